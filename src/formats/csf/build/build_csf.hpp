// SPDX-License-Identifier: BSD-3-Clause
// Csf::build.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/csf/build/build_bins.hpp"
#include "formats/csf/build/build_tree.hpp"
#include "formats/csf/storage/csf.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "formats/walks/ordered_chunks.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
Csf<Scalar, Index, Space> Csf<Scalar, Index, Space>::build(Space const& space,
                                                           CooTensor<Scalar, Index, Space> const& coo,
                                                           options_type const& options) {
  auto const& extents = coo.extents();
  int root            = 0;
  for (int n = 1; n < coo.order(); ++n)
    if (extents[n] < extents[root]) root = n;
  auto const modes = level_modes(extents, options.root.value_or(root), options.levels);
  Csf format;
  format.m_tree = make_csf_tree(space, coo, modes, options.fiber_threshold);  // refuses too many nonzeros
  format.describe(space, coo);
  count_t const slices = std::max<count_t>(format.m_tree.slices(), 1);
  format.m_bins = make_csf_bins(space, format.m_tree, ordered_chunk(space, coo.nnz(), slices), true, true);
  auto const root_rows = extents[modes[0]];
  expect_fits(space, "the flags of a mode's rows", root_rows, 1);
  RowFlags<Space> const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), root_rows);
  flag_stored_rows(space, format.m_tree, format.m_bins, flags);
  format.m_cleared = list_unflagged<Index>(space, flags);
  return format;
}

}  // namespace polyad::detail
