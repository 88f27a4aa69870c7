// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of `hb-csf`.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/mttkrp_b_csf.hpp"
#include "formats/csf/kernels/mttkrp_slices.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, HbCsf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  auto const& groups = X.groups(mode);
  zero_rows(space, groups.cleared, factors, V);
  mttkrp_singles(space, groups.coo, factors, V);
  detail::mttkrp_binned(space, groups.csl, factors, V);
  detail::mttkrp_binned(space, groups.b_csf, factors, V);
}

}  // namespace polyad::detail
