// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of `csf`: the root's mode stores its rows, the other modes add theirs with atomics.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/mttkrp_levels.hpp"
#include "formats/csf/kernels/mttkrp_slices.hpp"
#include "formats/csf/kernels/mttkrp_tree.hpp"
#include "formats/csf/storage/csf.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Csf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  auto const& tree = X.tree();
  int level        = 0;
  while (tree.modes[level] != mode) ++level;
  if (level > 0) {
    zero_matrix(space, V);
    return mttkrp_level(space, tree, X.bins(), level, factors, V);
  }
  zero_rows(space, X.cleared(), factors, V);
  if (tree.pointer_levels > 1)
    mttkrp_tree(space, tree, X.bins(), X.sums_fibers(), factors, V);
  else
    mttkrp_csl(space, tree, X.bins(), factors, V);
}

}  // namespace polyad::detail
