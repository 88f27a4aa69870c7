// SPDX-License-Identifier: BSD-3-Clause
// The FastTucker sweeps on `b-csf`: the kernels of formats/walks/sgd_sweep.hpp on the fibers of a mode's
// tree.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/tree_fibers.hpp"
#include "formats/walks/sgd_sweep.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, BCsf<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  POLYAD_EXPECTS(X.leaves(), "b-csf with the modes at the roots has no sweeps for single observations");
  if (X.nnz() == 0) return;
  auto const& binned = X.tree(mode);
  detail::sweep_factors<Index>(space, detail::TreeFibers<Scalar, Index>(space, binned.tree, binned.bins),
                               binned.tree.modes, model, C, rates, form, workspace);
}

template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, BCsf<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  POLYAD_EXPECTS(X.leaves(), "b-csf with the modes at the roots has no sweeps for single observations");
  if (X.nnz() == 0) return zero_matrix(space, workspace.P);
  auto const& binned = X.tree(mode);
  detail::sweep_cores<Index>(space, detail::TreeFibers<Scalar, Index>(space, binned.tree, binned.bins),
                             binned.tree.modes, model, C, form, workspace);
}

}  // namespace polyad::detail
