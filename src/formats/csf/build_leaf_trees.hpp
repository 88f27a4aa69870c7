// SPDX-License-Identifier: BSD-3-Clause
// LeafTrees::build.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/build_b_csf.hpp"
#include "formats/csf/build_tree.hpp"
#include "polyad/core/expects.hpp"
#include "polyad/formats/csf/leaf_trees.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

template <class Scalar, class Index, class Space>
LeafTrees<Scalar, Index, Space> LeafTrees<Scalar, Index, Space>::build(
    Space const& space, CooTensor<Scalar, Index, Space> const& coo, options_type const& options) {
  POLYAD_EXPECTS(coo.order() >= 2, "trees with fibers need a tensor of two modes or more");
  detail::expect_b_csf_options(coo, {{}, options.fiber_threshold, options.slice_threshold});
  LeafTrees format;
  format.m_extents      = coo.extents();
  format.m_nnz          = coo.nnz();
  format.m_norm_squared = polyad::norm_squared(space, coo);
  for (int n = 0; n < coo.order(); ++n)
    format.m_trees[static_cast<std::size_t>(n)] = detail::make_binned_tree(
        space, make_csf_tree(space, coo, levels(coo.extents(), n), options.fiber_threshold), options);
  return format;
}

template <class Scalar, class Index, class Space>
Kokkos::Array<int, max_order> LeafTrees<Scalar, Index, Space>::levels(Extents const& extents, int leaf) {
  auto const rooted = level_modes(extents, leaf);
  Kokkos::Array<int, max_order> modes{};
  auto const last = static_cast<std::size_t>(extents.order() - 1);
  for (std::size_t l = 0; l < last; ++l) modes[l] = rooted[l + 1];
  modes[last] = leaf;
  return modes;
}

}  // namespace polyad
