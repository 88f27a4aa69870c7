// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of `b-csf`, and that of any tree with workers.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/mttkrp_levels.hpp"
#include "formats/csf/kernels/mttkrp_slices.hpp"
#include "formats/csf/kernels/mttkrp_tree.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void mttkrp_binned(Space const& space, BinnedTree<Scalar, Index, Space> const& X,
                   FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  if (X.tree.pointer_levels > 1)
    mttkrp_tree(space, X.tree, X.bins, X.sums_fibers, factors, V);
  else
    mttkrp_csl(space, X.tree, X.bins, factors, V);
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, BCsf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  if (X.leaves()) {
    auto const& binned = X.tree(mode);
    zero_matrix(space, V);
    return mttkrp_level(space, binned.tree, binned.bins, binned.tree.pointer_levels, factors, V);
  }
  zero_rows(space, X.cleared(mode), factors, V);
  detail::mttkrp_binned(space, X.tree(mode), factors, V);
}

}  // namespace polyad::detail
