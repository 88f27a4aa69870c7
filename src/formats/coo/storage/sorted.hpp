// SPDX-License-Identifier: BSD-3-Clause
// sorted: for each mode a copy of the nonzeros in that mode's order (formats/coo/storage/sorted_copy.hpp). It
// has the fastest MTTKRP if memory allows N copies. If memory does not, or on request, it has one copy and
// permutations (coo-permuted). Storage: N (s_r + N s_o) bytes per nonzero, each copy rounded up to whole
// packs of four, and s_o bytes for each output row that a walk does not store itself.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <optional>
#include <string>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/sorted_copy.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"

namespace polyad::detail {

struct SortedOptions {
  enum class Storage { automatic, copies, permutations };
  Storage storage    = Storage::automatic;  // automatic: copies where they fit
  bool deterministic = false;  // the same bits at every run on one device, and on hosts at any thread count
  /// Rows of a locality block (SortedCopy). 0: no blocks; unset: blocks where they pay.
  std::optional<count_t> block_rows = {};
  std::string runs =
      {};  // "hoisted" or "each" (costs/sorted_tuning.hpp); empty: by their length and the machine
  int only_mode = -1;  // the only mode that gets a copy; -1: all get one

  void read(OptionText& text) {
    bool copies = false, permutations = false;
    text.read("copies", copies);
    text.read("permutations", permutations);
    text.read("deterministic", deterministic);
    text.read("block_rows", block_rows);
    text.read("runs", runs, {"hoisted", "each"});
    POLYAD_EXPECTS(!copies || !permutations, "sorted is either copies or permutations");
    if (copies) storage = Storage::copies;
    if (permutations) storage = Storage::permutations;
  }
  void serve(FormatRequest const& request) {
    if (request.no_fallback && storage == Storage::automatic) storage = Storage::copies;
    // Least squares need a row's nonzeros in one piece.
    if (request.wants(Capability::row_least_squares) && !block_rows) block_rows = 0;
    only_mode = request.only_mode;
  }
};

template <class Scalar, class Index, class Space>
class Sorted : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = SortedOptions;
  using workspace_type = SortedWorkspace<Scalar, Index, Space>;
  using copy_type      = SortedCopy<Scalar, Index, Space>;

  static constexpr char const* name          = "sorted";
  static constexpr bool default_for_one_mode = true;

  /// \throws UsageError when Index cannot number the nonzeros, or permutations or blocks are to be
  ///         deterministic; MemoryError
  static Sorted build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                      options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one. Permutations do not show this.
  [[nodiscard]] std::optional<count_t> duplicates() const { return m_duplicates; }
  [[nodiscard]] count_t storage_bytes() const {
    if (m_permuted) return m_permuted->storage_bytes();
    count_t const order = m_extents.order();
    count_t bytes       = 0;
    for (int n = 0; n < m_extents.order(); ++n)
      bytes += copy(n).values.extent(0) * (sizeof(Scalar) + order * sizeof(Index)) +
               copy(n).cleared.extent(0) * sizeof(Index);
    return bytes;
  }

  /// Memory for the borders of all modes whose borders are merged, or may be.
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const;

  [[nodiscard]] copy_type const& copy(int n) const { return m_copies[n]; }
  /// Set if one copy and permutations are kept instead.
  [[nodiscard]] std::optional<CooPermuted<Scalar, Index, Space>> const& permuted() const {
    return m_permuted;
  }

  [[nodiscard]] std::string note() const {
    return m_permuted ? "its sorted copies do not fit: one copy and permutations, as coo-permuted has them"
                      : "";
  }

  /// The first nonzero of each row in the copy of each mode that has one, for least_squares_rows.
  /// \throws UsageError if a mode is cut into locality blocks, so that its rows are not in one piece;
  ///         MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const;

  /// A format with the copy of one mode only, for operations on that mode.
  /// \param identity  that of the format whose workspaces serve it
  static Sorted of_copy(FormatIdentity identity, Extents const& extents, copy_type const& copy) {
    Sorted format;
    format.m_identity              = identity;
    format.m_extents               = extents;
    format.m_nnz                   = copy.nnz;
    format.m_copies[copy.modes[0]] = copy;
    return format;
  }

  /// The same with other values of mode n, in the order of its copy. The norm of the result is undefined.
  [[nodiscard]] Sorted with_values(int n, typename copy_type::values_type values) const {
    Sorted other             = *this;
    other.m_copies[n].values = std::move(values);
    return other;
  }

private:
  std::optional<count_t> m_duplicates;
  std::array<copy_type, max_order> m_copies;
  std::optional<CooPermuted<Scalar, Index, Space>> m_permuted;
};

#define POLYAD_SORTED(Scalar, Index) template class Sorted<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SORTED);

/// The contract's mttkrp (formats/format.hpp).
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Sorted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            SortedWorkspace<Scalar, Index, Space>& workspace, FactorMatrix<Scalar, Space> const& V);

/// The residual sweep (formats/format.hpp). If borders are merged (SortedOptions::deterministic), the bits
/// are the same in every run, and on hosts at any thread count.
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Sorted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, SortedWorkspace<Scalar, Index, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// Least squares for the rows of one mode (formats/format.hpp).
template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, Sorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage = {});

/// The sweeps of FastTucker (formats/format.hpp), each nonzero by itself, in the order of the mode's rows. A
/// thread takes consecutive nonzeros, which mostly share their row. Threads that run at the same time take
/// them from all over the order. They then meet in a row as rarely as on plain coordinates.
template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, Sorted<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);
template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, Sorted<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Sorted<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
