// SPDX-License-Identifier: BSD-3-Clause
// sorted: per mode a copy of the nonzeros in that mode's order (formats/coo/sorted_copy.hpp), the fastest
// MTTKRP where memory allows N copies. Where it does not, or when asked, one copy and permutations
// (coo-permuted). Storage: N (s_r + N s_o) bytes a nonzero, every copy rounded up to whole packs of four, and
// s_o bytes for each output row that a walk does not store itself.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <optional>

#include "polyad/core/instances.hpp"
#include "polyad/formats/coo/border_rows.hpp"
#include "polyad/formats/coo/coo_permuted.hpp"
#include "polyad/formats/coo/nonzero_sources.hpp"
#include "polyad/formats/coo/sorted_copy.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

struct SortedOptions {
  enum class Storage { automatic, copies, permutations };
  Storage storage    = Storage::automatic;  // automatic: copies where they fit
  bool deterministic = false;  // the same bits at every run on one device, and on hosts at any thread count
  std::optional<count_t> block_rows = {};  // of locality blocks (SortedCopy), 0: none; unset: where they pay
};

template <class Scalar, class Index, class Space>
class Sorted {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = SortedOptions;
  using workspace_type = SortedWorkspace<Scalar, Index, Space>;
  using copy_type      = SortedCopy<Scalar, Index, Space>;

  static constexpr char const* name = "sorted";

  /// \throws UsageError when Index cannot number the nonzeros, or permutations or blocks are to be
  ///         deterministic; MemoryError
  static Sorted build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                      options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const {
    if (m_permuted) return m_permuted->storage_bytes();
    auto const order = static_cast<count_t>(m_extents.order());
    count_t bytes    = order * copy_type::padded(m_nnz) * (sizeof(Scalar) + order * sizeof(Index));
    for (int n = 0; n < m_extents.order(); ++n) bytes += copy(n).cleared.extent(0) * sizeof(Index);
    return bytes;
  }

  /// Room for the borders of every mode that merges them, or may.
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
    count_t entries = 0;
    for (int n = 0; n < m_extents.order() && !m_permuted; ++n)
      if (copy(n).borders != Borders::atomics && copy(n).nnz > 0)
        entries = std::max(entries, border_entries(ceil_div(copy(n).nnz, copy(n).chunk)));
    // Rows of whole packs, whatever the rows of the factors are.
    count_t const pack = row_alignment / sizeof(Scalar);
    return {Kokkos::View<Index*, typename Space::device_type>(
                Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::border_rows"), entries),
            make_factor_matrix<Scalar>(space, "polyad::border_sums", entries, ceil_div(rank, pack) * pack)};
  }

  [[nodiscard]] copy_type const& copy(int n) const { return m_copies[static_cast<std::size_t>(n)]; }
  /// Set where one copy and permutations are kept instead.
  [[nodiscard]] std::optional<CooPermuted<Scalar, Index, Space>> const& permuted() const {
    return m_permuted;
  }

  /// Where each row's nonzeros begin in the copy of each mode, for least_squares_rows.
  /// \throws UsageError where a mode is cut into locality blocks: its rows are not in one piece; MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const {
    if (m_permuted) return m_permuted->make_row_workspace(space);
    RowStarts<Space> starts;
    for (int n = 0; n < m_extents.order(); ++n) {
      POLYAD_EXPECTS(copy(n).block_rows == 0, "mode ", n, " is cut into locality blocks: build without them");
      starts[static_cast<std::size_t>(n)] =
          detail::make_row_starts(space, detail::SortedSource<Scalar, Index>(copy(n)), m_extents[n], m_nnz);
    }
    return starts;
  }

  /// The same with other values of mode n, in the order of its copy; its norm is not meant to be asked for.
  [[nodiscard]] Sorted with_values(int n, typename copy_type::values_type values) const {
    Sorted other                                       = *this;
    other.m_copies[static_cast<std::size_t>(n)].values = std::move(values);
    return other;
  }

private:
  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
  std::array<copy_type, max_order> m_copies;
  std::optional<CooPermuted<Scalar, Index, Space>> m_permuted;
};

template <class Scalar, class Index, class Space>
Sorted<Scalar, Index, Space> Sorted<Scalar, Index, Space>::build(Space const& space,
                                                                 CooTensor<Scalar, Index, Space> const& coo,
                                                                 options_type const& options) {
  POLYAD_EXPECTS(coo.nnz() <= std::numeric_limits<Index>::max(), coo.nnz(),
                 " nonzeros need 64-bit indices in this format");
  POLYAD_EXPECTS(!options.deterministic || options.storage != SortedOptions::Storage::permutations,
                 "permutations sum with atomics: they are not deterministic");
  POLYAD_EXPECTS(!options.deterministic || options.block_rows.value_or(0) == 0,
                 "locality blocks sum with atomics: they are not deterministic");
  auto const order = static_cast<count_t>(coo.order());
  Sorted format;
  format.m_extents      = coo.extents();
  format.m_nnz          = coo.nnz();
  format.m_norm_squared = polyad::norm_squared(space, coo);
  count_t const bytes   = checked_product("the sorted copies", coo.storage_bytes(), order);
  // Beside the copies the sort needs two words and two positions a nonzero, and the lists of rows at most one
  // entry and one flag a row.
  count_t scratch = coo.nnz() * 2 * (sizeof(std::uint64_t) + sizeof(Index));
  for (int n = 0; n < coo.order(); ++n)
    scratch += checked_product("the rows of a mode", coo.extents()[n], sizeof(Index) + 1);
  bool const fits = bytes + scratch <= available_memory(space);
  if (options.storage == SortedOptions::Storage::permutations ||
      (options.storage == SortedOptions::Storage::automatic && !options.deterministic && !fits)) {
    format.m_permuted = CooPermuted<Scalar, Index, Space>::build(space, coo);
    return format;
  }
  for (int n = 0; n < coo.order(); ++n)
    format.m_copies[static_cast<std::size_t>(n)] =
        make_sorted_copy(space, coo, n, options.deterministic, options.block_rows);
  return format;
}

#define POLYAD_SORTED(Scalar, Index) template class Sorted<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SORTED);

}  // namespace polyad

#include "polyad/formats/coo/mttkrp_sorted.hpp"
#include "polyad/formats/coo/residual_mttkrp.hpp"
#include "polyad/formats/coo/row_least_squares.hpp"
