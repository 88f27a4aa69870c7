// SPDX-License-Identifier: BSD-3-Clause
// AnyFormat holds a tensor in the format that suits it. The cost model chooses this format when the tensor is
// built. AnyFormat has the contract of formats/format.hpp, so drivers accept it like any format:
//
//   auto const X      = any_format(space, tensor, {.rank = 32});
//   auto const result = cp_als(space, X);  // of rank 32
//
// An MTTKRP costs one virtual call more than that of the format inside. Everything is compiled in the
// library: sources that include this header see no format.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/formats/any_format_options.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/format_candidate.hpp"
#include "polyad/formats/held_format.hpp"
#include "polyad/formats/option_text.hpp"

namespace polyad {

/// The number of iterations to assume for the choice of a format: `most` if the tolerance is 0, and at most
/// 20 otherwise. The iterations that a run to a tolerance takes are not known in advance.
[[nodiscard]] double expected_iterations(int most, double tolerance);

/// The source of the coordinates, for a program that does not hold them on the device. AnyFormat::build
/// chooses the format before it loads them, so a streamed tensor is never stored on the device. The choice
/// needs AnyFormatOptions::survey.
template <class Scalar, class Index, class Space>
struct TensorSource {
  static_assert(detail::expect_compiled<Scalar, Index, Space>());
  using host_space = HostOf<Space>;

  std::function<CooTensor<Scalar, Index, Space>()> load;
  /// Loads into host memory. `because` says why the tensor is streamed: empty if its format was named.
  std::function<CooTensor<Scalar, Index, host_space>(std::string const& because)> load_on_host;
  /// Returns false once the coordinates are released. No other format can be built after that. Unset: true.
  std::function<bool()> is_there = {};
  /// Bytes of load()'s tensor that are already in memory and are released once the format is built.
  count_t held_bytes = 0;
  bool is_checked    = false;  // all coordinates are below the extents: build does not check them again
};

/// The scratch of one operation. Only the AnyFormat that made it accepts it.
struct AnyWorkspace {
  std::unique_ptr<detail::ErasedWorkspace> held;
};

/// Copies share the format inside. The coordinates that it is built from may have 32 or 64 bits, and the
/// format inside keeps this width.
template <class Scalar, class Space>
class AnyFormat {
  static_assert(detail::expect_compiled<Scalar, std::uint32_t, Space>());

public:
  using scalar_type    = Scalar;
  using space_type     = Space;
  using options_type   = AnyFormatOptions;
  using workspace_type = AnyWorkspace;
  /// The host's space. A tensor that does not fit the device is kept there.
  using host_space = HostOf<Space>;

  static constexpr char const* name = "any";

  /// Chooses and builds. If a format does not fit after all, the next best is tried. The memory is counted as
  /// if the caller released `coo` afterwards, as any_format(space, std::move(coo), options) does. Waits for
  /// `space`.
  /// \throws UsageError for duplicates, unless options.duplicates sums or keeps them; unless
  ///         1 <= options.rank <= largest_rank; for a coordinate outside, naming it; for iterations that are
  ///         negative or not finite; for an unknown name or option; for a named format without the
  ///         operations of options.needs or a fixed order; without a survey if one is needed. MemoryError,
  ///         with the smallest need, if nothing fits
  template <class Index>
  static AnyFormat build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                         options_type const& options = {});
  template <class Index>
  static AnyFormat build(Space const& space, TensorSource<Scalar, Index, Space> const& source,
                         options_type const& options);
  /// streamed-blco, from a tensor in host memory, which a device's memory need not hold. Waits for `space`.
  /// \throws UsageError for duplicates and coordinates as build; when options.format names a format that does
  ///         not stream; MemoryError
  template <class Index>
  static AnyFormat stream(Space const& space, CooTensor<Scalar, Index, host_space> const& coo,
                          options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_format->extents(); }
  [[nodiscard]] count_t nnz() const { return m_format->nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return m_format->storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return m_format->norm_squared(); }
  /// How many nonzeros have the coordinates of an earlier one: more than 0 only if they were kept. Not set
  /// for a format that does not know.
  [[nodiscard]] std::optional<count_t> duplicates() const { return m_format->duplicates(); }
  /// The scratch of mttkrp for that rank. It belongs to this format, and others refuse it. Waits only for a
  /// format that streams. \throws MemoryError
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
    return {m_format->make_workspace(space, rank)};
  }
  /// Where each row's nonzeros begin, for least_squares_rows. Does not wait. \throws UsageError; MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const {
    return m_format->make_row_workspace(space);
  }

  /// Whether the format inside offers an operation. Every operation below throws a UsageError if it does not.
  [[nodiscard]] bool supports(Capability capability) const { return m_format->supports(capability); }

  /// Holds a format of any class, including user-defined ones (any_format below).
  template <Format F>
    requires(!std::is_same_v<F, AnyFormat>)
  explicit AnyFormat(F format) : m_format(std::make_shared<detail::FormatModel<F>>(std::move(format))) {}

  /// The name of the format inside.
  [[nodiscard]] std::string chosen() const { return m_format->name(); }
  /// Why it was chosen: "20 iterations with its build take 151 ms (predicted), with sorted 239 ms". For a
  /// named format it says why the storage differs from the name, and is empty otherwise.
  [[nodiscard]] std::string const& chosen_because() const { return m_because; }
  /// What its results may lose: formats that add floats term by term lose digits in long rows. Empty if
  /// nothing is known. auto chooses such a format only if no other fits.
  [[nodiscard]] std::string const& warning() const { return m_warning; }
  /// The rank for which it was built; 0 for a user-defined format.
  [[nodiscard]] count_t rank() const { return m_rank; }
  [[nodiscard]] double build_seconds() const { return m_build_s; }
  /// All candidates, the best first; empty if a format was named.
  [[nodiscard]] std::vector<FormatCandidate> const& candidates() const { return m_candidates; }
  /// The format inside, as virtual functions. It is for the library's drivers only.
  [[nodiscard]] std::shared_ptr<detail::FormatInterface<Scalar, Space> const> const& erased() const {
    return m_format;
  }

private:
  using Inside = std::shared_ptr<detail::FormatInterface<Scalar, Space> const>;

  AnyFormat() = default;

  Inside m_format;
  count_t m_rank   = 0;
  double m_build_s = 0;
  std::string m_because;
  std::string m_warning;
  std::vector<FormatCandidate> m_candidates;
};

/// A format outside AnyFormat: a user-defined class or one of the library's. AnyFormat itself is not one,
/// since its coordinates have no type.
template <class F>
concept OwnFormat = Format<F>;

/// The contract's mttkrp (formats/format.hpp): V (I_mode x R) is overwritten. Launches on `space` and returns
/// without waiting. A device's matrices whose rows are not packed are copied first; then the call waits.
/// \throws UsageError when shapes do not match, or the workspace was made for another format, tensor or rank;
///         MemoryError for copies
template <class Scalar, class Space>
void mttkrp(Space const& space, AnyFormat<Scalar, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, AnyWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  detail::on_packed_rows(space, factors, V, [&](auto const& packed, auto const& output) {
    X.erased()->do_mttkrp(space, packed, mode, workspace.held.get(), output);
  });
}

/// The other operations of formats/format.hpp. All launch on `space` and return without waiting. The residual
/// sweep and SpTTMc copy matrices as mttkrp does. The others throw if rows are not packed.
/// \throws UsageError as mttkrp, and if the format inside does not offer the operation; MemoryError
template <class Scalar, class Space>
[[nodiscard]] AnyWorkspace make_residual_workspace(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                   count_t rank) {
  return {X.erased()->do_make_residual_workspace(space, rank)};
}
template <class Scalar, class Space>
void residual_mttkrp(Space const& space, AnyFormat<Scalar, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode, AnyWorkspace& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  detail::on_packed_rows(space, C, G, [&](auto const& packed, auto const& output) {
    X.erased()->do_residual_mttkrp(space, packed, mode, workspace.held.get(), output);
  });
}
template <class Scalar, class Space>
void least_squares_rows(Space const& space, AnyFormat<Scalar, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage = {}) {
  X.erased()->do_least_squares_rows(space, C, mode, problem, starts, A, shrinkage);
}
template <class Scalar, class Space>
void sgd_factor_sweep(Space const& space, AnyFormat<Scalar, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep step, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  X.erased()->do_sgd_factor_sweep(space, model, C, mode, step, form, workspace);
}
template <class Scalar, class Space>
void sgd_core_sweep(Space const& space, AnyFormat<Scalar, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  X.erased()->do_sgd_core_sweep(space, model, C, mode, form, workspace);
}

template <class Scalar, class Space>
void spttmc(Space const& space, AnyFormat<Scalar, Space> const& X,
            std::vector<FactorMatrix<Scalar, Space>> const& U, int mode,
            FactorMatrix<Scalar, Space> const& Y) {
  std::vector<FactorMatrix<Scalar, Space>> packed;
  for (auto const& matrix : U) packed.push_back(with_packed_rows<Scalar, Space>(space, matrix));
  detail::on_packed_rows(space, FactorMatrices<Scalar, Space>(), Y, [&](auto const&, auto const& output) {
    X.erased()->do_spttmc(space, packed, mode, output);
  });
}

/// A shape of a format, and the time of an MTTKRP of every mode with it.
struct FormatShape {
  std::string format;  // "f-coo:threadlen=16,team_threads=64"
  double seconds = 0;
};

/// What estimate_formats predicted, or tune_formats measured.
struct FormatComparison {
  std::vector<FormatCandidate> candidates;  // the best first
  std::string best;                         // its name; empty if none fits
  std::string because;                      // why it is the best, or what a format would need to fit
  std::vector<FormatShape> shapes;          // shapes tried for the one tuned format, the fastest first
  std::uint64_t free_bytes = 0;             // the free memory that the choice assumed
};

/// The cost model's predictions for each format, with options.rank and options.iterations. Builds nothing.
/// Requires options.survey and ignores options.format.
/// \param held_bytes  bytes of coordinates that are in the tensor's memory and are released later
/// \throws UsageError without a survey, or unless 1 <= rank <= largest_rank
template <class Scalar, class Index, class Space>
[[nodiscard]] FormatComparison estimate_formats(Space const& space, AnyFormatOptions const& options,
                                                count_t held_bytes = 0);
/// The same for a tensor. Copies a device's coordinates to the host if the options have no survey. Waits.
template <class Scalar, class Index, class Space>
[[nodiscard]] FormatComparison estimate_formats(Space const& space,
                                                CooTensor<Scalar, Index, Space> const& coo,
                                                AnyFormatOptions const& options = {});

/// Builds each format that fits and is not streamed, times an MTTKRP of every mode (the shorter of two, after
/// a first run) and releases it. If options.format names one, only that and its shapes are timed. Waits.
/// \throws as estimate_formats; UsageError for an unknown format; MemoryError when none fits
template <class Scalar, class Index, class Space>
[[nodiscard]] FormatComparison tune_formats(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                            AnyFormatOptions const& options = {});

/// Wraps a user-defined format in AnyFormat, which shares its Views. Does not wait.
template <OwnFormat F>
[[nodiscard]] AnyFormat<typename F::scalar_type, typename F::space_type> any_format(
    typename F::space_type const&, F const& own) {
  return AnyFormat<typename F::scalar_type, typename F::space_type>(own);
}

/// AnyFormat::build (which waits and throws) for a tensor that may be handed over by std::move(coo).
template <class Scalar, class Index, class Space>
[[nodiscard]] AnyFormat<Scalar, Space> any_format(Space const& space, CooTensor<Scalar, Index, Space> coo,
                                                  AnyFormatOptions const& options = {}) {
  static_assert(detail::expect_compiled<Scalar, Index, Space>());
  return AnyFormat<Scalar, Space>::build(space, coo, options);
}

}  // namespace polyad
