// SPDX-License-Identifier: BSD-3-Clause
// The contract's mttkrp for the format alto, for every mode from the one copy, by one of its strategies
// (formats/blco/costs/blco_tuning.hpp).
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/kernels/mttkrp_alto_atomics.hpp"
#include "formats/blco/kernels/mttkrp_alto_private.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/alto.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The MTTKRP with `values` in place of X's own, in their order.
template <class Space, class Scalar, class Index>
void mttkrp_with_values(Space const& space, Alto<Scalar, Index, Space> const& X, Scalar const* values,
                        FactorMatrices<Scalar, Space> const& factors, int mode,
                        AltoWorkspace<Scalar, Space> const& workspace, FactorMatrix<Scalar, Space> const& V) {
  AltoStrategy<Space> const strategy;
  auto const operands = alto_operands(strategy, space, X, factors, mode, workspace, V);
  for_each_wide_block<Scalar, sizeof(Index) == 8>(
      checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
        launch_alto<TinyVec<Space, Scalar, block()>>(strategy, space, X, values, operands, mode, blocks,
                                                     ProductTerm());
      });
  finish_alto(strategy, space, X, mode, workspace, V);
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Alto<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, AltoWorkspace<Scalar, Space>& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.made_for.expect(X.identity(), factors.rank(), X.name);
  if (X.nnz() == 0) return zero_matrix(space, V);
  detail::mttkrp_with_values<Space, Scalar, Index>(space, X, X.values().data(), factors, mode, workspace, V);
}

// The residual sweep calls it too, and so its sources need not compile the kernels again.
#define POLYAD_ALTO_WITH_VALUES(Scalar, Index)                                                               \
  template void detail::mttkrp_with_values(CompiledSpace const&, Alto<Scalar, Index, CompiledSpace> const&,  \
                                           Scalar const*, FactorMatrices<Scalar, CompiledSpace> const&, int, \
                                           AltoWorkspace<Scalar, CompiledSpace> const&,                      \
                                           FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_ALTO_WITH_VALUES);

}  // namespace polyad::detail
