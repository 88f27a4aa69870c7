// SPDX-License-Identifier: BSD-3-Clause
// AnyFormat: a tensor in the format that suits it, chosen by the cost model when it is built, behind the
// contract of formats/format.hpp. Drivers take it as they take any format:
//
//   auto const X      = any_format(space, tensor, {.rank = 32});
//   auto const result = cp_als(space, X, {.rank = 32}, [](auto const&) { return true; });
//
// An MTTKRP costs one virtual call more than that of the format inside. Everything is compiled in the
// library: sources that include this header see no format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/formats/choose_format.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

struct AnyFormatOptions {
  count_t rank       = 16;      // of the model, for memory and times
  double iterations  = 20;      // that the run is expected to take (expected_iterations)
  std::string format = "auto";  // or a name of the registry's, which is then taken
  bool deterministic = false;   // a fixed order of summation: the same bits at every run
  bool may_stream    = true;    // keep the nonzeros in host memory where nothing else fits
  /// Bytes that the tensor, its format and the model may take together where the tensor is. Unset: what is
  /// free, and what the tensor itself takes.
  std::optional<count_t> memory_bytes = {};
  /// Unset: the usual ones (usual_ceilings), and measured for runs that are expected to last two seconds or
  /// more.
  std::optional<Ceilings> machine = {};
  /// Unset: made, for which a device's coordinates are copied to the host.
  std::optional<TensorSurvey> survey = {};
  /// `sorted` by its name: refuse where its copies do not fit, instead of one copy and permutations.
  bool only_copies = false;
  /// The shape of `f-coo` (formats/fcoo/tune.hpp), where that is taken; 0: its own choice.
  int f_coo_threadlen = 0, f_coo_team_threads = 0;
};

namespace detail {

/// The workspace of the format inside.
class ErasedWorkspace {
public:
  virtual ~ErasedWorkspace() = default;
};

/// The contract of formats with virtual functions.
template <class Scalar, class Space>
class ErasedFormat {
public:
  virtual ~ErasedFormat()                                                                     = default;
  [[nodiscard]] virtual char const* name() const                                              = 0;
  [[nodiscard]] virtual bool streams() const                                                  = 0;
  [[nodiscard]] virtual Extents const& extents() const                                        = 0;
  [[nodiscard]] virtual count_t nnz() const                                                   = 0;
  [[nodiscard]] virtual count_t storage_bytes() const                                         = 0;
  [[nodiscard]] virtual double norm_squared() const                                           = 0;
  [[nodiscard]] virtual std::unique_ptr<ErasedWorkspace> make_workspace(Space const& space,
                                                                        count_t rank) const   = 0;
  virtual void mttkrp(Space const& space, FactorMatrices<Scalar, Space> const& factors, int mode,
                      ErasedWorkspace* workspace, FactorMatrix<Scalar, Space> const& V) const = 0;
};

}  // namespace detail

/// Of the AnyFormat that made it.
struct AnyWorkspace {
  std::unique_ptr<detail::ErasedWorkspace> held;
};

/// Shares what it holds when copied.
template <class Scalar, class Index, class Space>
class AnyFormat {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = AnyFormatOptions;
  using workspace_type = AnyWorkspace;
  /// Where a tensor lives that does not fit the device.
  using host_space = std::conditional_t<is_device_space<Space>, Kokkos::DefaultHostExecutionSpace, Space>;

  static constexpr char const* name = "any";

  /// Chooses and builds. A format that does not fit after all gives way to the next best. The memory is
  /// counted as if `coo` were let go afterwards: any_format(space, std::move(coo), options) does. Waits for
  /// `space`.
  /// \param coo  no duplicates, for CP-ALS (tensor/sum_duplicates.hpp)
  /// \throws UsageError for a rank of 0, an unknown name, or one whose format has no fixed order of summation
  ///         where options.deterministic asks for one; MemoryError, with the smallest need, when nothing fits
  static AnyFormat build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                         options_type const& options = {});
  /// streamed-blco, from a tensor in host memory, which a device's memory need not hold. Waits for `space`.
  /// \throws MemoryError
  static AnyFormat stream(Space const& space, CooTensor<Scalar, Index, host_space> const& coo,
                          options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_format->extents(); }
  [[nodiscard]] count_t nnz() const { return m_format->nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return m_format->storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return m_format->norm_squared(); }
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
    return {m_format->make_workspace(space, rank)};
  }

  /// The name of the format inside.
  [[nodiscard]] std::string chosen() const { return m_format->name(); }
  /// Why that, "20 iterations with its build take 151 ms (predicted), with sorted 239 ms"; or why a format
  /// that was named is not stored as its name says; empty otherwise.
  [[nodiscard]] std::string const& chosen_because() const { return m_because; }
  /// What was looked at, the best first; empty where a format was named.
  [[nodiscard]] std::vector<FormatCandidate> const& candidates() const { return m_candidates; }
  /// Whether the nonzeros are in host memory. Its runs cannot share a device: each takes the memory that is
  /// left.
  [[nodiscard]] bool streams() const { return m_format->streams(); }

  [[nodiscard]] detail::ErasedFormat<Scalar, Space> const& inside() const { return *m_format; }

private:
  using Inside = std::shared_ptr<detail::ErasedFormat<Scalar, Space> const>;

  AnyFormat(Inside format, std::string because, std::vector<FormatCandidate> candidates)
      : m_format(std::move(format)), m_because(std::move(because)), m_candidates(std::move(candidates)) {}

  Inside m_format;
  std::string m_because;
  std::vector<FormatCandidate> m_candidates;
};

/// The contract's mttkrp (formats/format.hpp). \throws UsageError also for a workspace of another tensor's
/// format
template <class Scalar, class Index, class Space>
void mttkrp(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, AnyWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  X.inside().mttkrp(space, factors, mode, workspace.held.get(), V);
}

/// AnyFormat::build of a tensor that is given up.
template <class Scalar, class Index, class Space>
[[nodiscard]] AnyFormat<Scalar, Index, Space> any_format(Space const& space,
                                                         CooTensor<Scalar, Index, Space> coo,
                                                         AnyFormatOptions const& options = {}) {
  return AnyFormat<Scalar, Index, Space>::build(space, coo, options);
}

#define POLYAD_ANY_FORMAT(Scalar, Index) \
  template class AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_ANY_FORMAT);

}  // namespace polyad
