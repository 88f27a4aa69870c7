// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep (the concept ResidualFormat of formats/format.hpp) on `blco`, for every mode from the
// one copy: the residuals are formed first and kept, and the MTTKRP takes them for the values.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/blco.hpp"
#include "formats/blco/mttkrp_blco.hpp"
#include "formats/form_residuals.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The nonzeros as form_residuals() reads them, one at a time: an index is a shift and a mask.
template <class Scalar, class Index>
struct BlcoSource {
  BlcoNonzeros<Scalar, Index> nonzeros;
  int mode;

  template <int Count>
  struct At {
    static_assert(Count == 1);
    count_t p;
    count_t block;
  };
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION At<Count> at(count_t p) const {
    return {p, nonzeros.block_of(p)};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(At<1> const& at, int) const {
    return nonzeros.index(at.p, at.block, mode);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(At<1> const& at, int) const {
    return nonzeros.values[at.p];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Pack<Index, Count> indices(At<Count> const& at, int m) const {
    return {{nonzeros.index(at.p, at.block, m < mode ? m : m + 1)}};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t position(count_t p) const { return p; }
};

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Blco<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, BlcoWorkspace<Scalar, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  if (X.nnz() == 0) return zero_matrix(space, G);
  BlcoSource<Scalar, Index> const source{X.blocks().nonzeros(), mode};
  WholeRowWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), 8)};
  form_residuals(space, source, C, mode, OtherFactors<Scalar, any_order>(C, mode), chunks,
                 workspace.residuals);
  mttkrp_with_values<Space, Scalar, Index>(space, X, workspace.residuals.data(), C, mode, workspace.format,
                                           G);
}

#define POLYAD_RESIDUAL_MTTKRP_BLCO(Scalar, Index)                                                     \
  template void residual_mttkrp(                                                                       \
      Kokkos::DefaultExecutionSpace const&, Blco<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int,                               \
      ResidualWorkspace<Scalar, BlcoWorkspace<Scalar, Kokkos::DefaultExecutionSpace>,                  \
                        Kokkos::DefaultExecutionSpace>&,                                               \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)

}  // namespace polyad::detail
