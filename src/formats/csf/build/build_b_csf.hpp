// SPDX-License-Identifier: BSD-3-Clause
// BCsf::build, and the trees with workers that `hb-csf` uses too.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>

#include "formats/csf/build/build_bins.hpp"
#include "formats/csf/build/build_tree.hpp"
#include "formats/csf/costs/csf_tuning.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "formats/walks/ordered_chunks.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
BinnedTree<Scalar, Index, Space> make_binned_tree(Space const& space, CsfTree<Scalar, Index, Space> tree,
                                                  BCsfOptions const& options) {
  bool const split_slices = options.slice_threshold != no_split;
  count_t bin             = ordered_chunk(space, tree.nnz(), std::max<count_t>(tree.slices(), 1));
  if (options.slice_threshold && split_slices) bin = *options.slice_threshold;
  auto bins = make_csf_bins(space, tree, bin, options.fiber_threshold != no_split, split_slices);
  bool const sums_fibers =
      options.fibers.empty() ? summing_fibers_pays(tree.nnz(), tree.fibers()) : options.fibers == "summed";
  return {std::move(tree), std::move(bins), sums_fibers};
}

/// \throws UsageError when an option has no meaning for the tensor
template <class Scalar, class Index, class Space>
void expect_b_csf_options(CooTensor<Scalar, Index, Space> const& coo, BCsfOptions const& options) {
  expect_countable<Index>(coo.nnz());
  expect_threshold("fiber", options.fiber_threshold);
  if (options.slice_threshold) expect_threshold("slice", *options.slice_threshold);
  POLYAD_EXPECTS(!options.leaves || coo.order() >= 2, "trees with leaves need a tensor of two modes or more");
  POLYAD_EXPECTS(options.fibers != "each" || multiplies_each<Space>,
                 "fibers=each is slower on this backend, and compiled for polyad_perf alone");
  level_modes(coo.extents(), 0, options.levels);
}

/// The other modes from the shortest to the longest, then the leaf.
inline Kokkos::Array<int, max_order> leaf_level_modes(Extents const& extents, int leaf) {
  auto const rooted = level_modes(extents, leaf);
  Kokkos::Array<int, max_order> modes{};
  std::size_t const last = extents.order() - 1;
  for (std::size_t l = 0; l < last; ++l) modes[l] = rooted[l + 1];
  modes[last] = leaf;
  return modes;
}

template <class Scalar, class Index, class Space>
BCsf<Scalar, Index, Space> BCsf<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  detail::expect_b_csf_options(coo, options);
  BCsf format;
  format.describe(space, coo);
  format.m_leaves = options.leaves;
  for (int n = 0; n < coo.order(); ++n) {
    auto const modes     = options.leaves ? detail::leaf_level_modes(coo.extents(), n)
                                          : level_modes(coo.extents(), n, options.levels);
    std::size_t const at = n;
    format.m_trees[at] =
        detail::make_binned_tree(space, make_csf_tree(space, coo, modes, options.fiber_threshold), options);
    if (options.leaves) continue;
    expect_fits(space, "the flags of a mode's rows", coo.extents()[n], 1);
    RowFlags<Space> const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), coo.extents()[n]);
    flag_stored_rows(space, format.m_trees[at].tree, format.m_trees[at].bins, flags);
    format.m_cleared[at] = list_unflagged<Index>(space, flags);
  }
  return format;
}

}  // namespace polyad::detail
