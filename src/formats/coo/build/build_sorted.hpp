// SPDX-License-Identifier: BSD-3-Clause
// Building Sorted and its workspaces: N sorted copies if they fit, and permutations otherwise.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>

#include "formats/coo/build/build_sorted_copy.hpp"
#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/coo/storage/row_starts.hpp"
#include "formats/coo/storage/sorted.hpp"

namespace polyad::detail {

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
  POLYAD_EXPECTS((options.runs != "hoisted" || SortedTuning<Space, Scalar>::may_hoist),
                 "runs=hoisted is slower for doubles on this backend, and compiled for polyad_perf alone");
  count_t const order = coo.order();
  Sorted format;
  format.describe(space, coo);
  count_t const bytes =
      checked_product("the sorted copies", coo.storage_bytes(), options.only_mode < 0 ? order : 1);
  // The sort needs two words and two positions per nonzero, before the last copy is made. In addition to that
  // copy there are its positions. The lists of rows need at most one entry and one flag per row.
  count_t const sort = coo.nnz() * 2 * (sizeof(std::uint64_t) + sizeof(Index));
  count_t scratch    = std::max(sort - std::min(sort, coo.storage_bytes()), coo.nnz() * sizeof(Index));
  for (int n = 0; n < coo.order(); ++n)
    scratch += checked_product("the rows of a mode", coo.extents()[n], sizeof(Index) + 1);
  bool const fits = bytes + scratch <= available_memory(space);
  if (options.storage == SortedOptions::Storage::permutations ||
      (options.storage == SortedOptions::Storage::automatic && !options.deterministic && !fits)) {
    format.m_permuted = CooPermuted<Scalar, Index, Space>::build(space, coo);
    format.m_identity = format.m_permuted->identity();  // its workspaces serve both
    return format;
  }
  for (int n = 0; n < coo.order(); ++n) {
    if (options.only_mode >= 0 && options.only_mode != n) continue;
    count_t duplicates  = 0;
    bool const is_first = !format.m_duplicates;
    format.m_copies[n]  = make_sorted_copy(space, coo, n, options, is_first ? &duplicates : nullptr);
    if (is_first) format.m_duplicates = duplicates;
  }
  return format;
}

template <class Scalar, class Index, class Space>
SortedWorkspace<Scalar, Index, Space> Sorted<Scalar, Index, Space>::make_workspace(Space const& space,
                                                                                   count_t rank) const {
  count_t entries = 0;
  for (int n = 0; n < m_extents.order() && !m_permuted; ++n)
    if (copy(n).borders != Borders::atomics && copy(n).nnz > 0)
      entries = std::max(entries, border_entries(ceil_div(copy(n).nnz, copy(n).chunk)));
  return {
      WorkspaceOwner(m_identity, rank),
      Kokkos::View<Index*, typename Space::device_type>(uninitialized(space, "polyad::border_rows"), entries),
      make_factor_matrix<Scalar>(space, "polyad::border_sums", entries, rank)};
}

template <class Scalar, class Index, class Space>
RowStarts<Space> Sorted<Scalar, Index, Space>::make_row_workspace(Space const& space) const {
  if (m_permuted) return m_permuted->make_row_workspace(space);
  RowStarts<Space> starts;
  starts.made_for = {m_identity, 0};
  for (int n = 0; n < m_extents.order(); ++n) {
    if (copy(n).nnz != m_nnz) continue;  // it has no copy
    POLYAD_EXPECTS(copy(n).block_rows == 0, "mode ", n, " is cut into locality blocks: build without them");
    starts[n] =
        detail::make_row_starts(space, detail::SortedSource<Scalar, Index>(copy(n)), m_extents[n], m_nnz);
  }
  return starts;
}

}  // namespace polyad::detail
