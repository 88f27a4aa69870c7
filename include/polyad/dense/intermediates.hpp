// SPDX-License-Identifier: BSD-3-Clause
// intermediates: C = A B for a tall matrix A (I x R) and a small one B (R x S), the precomputed products that
// FasterTucker shares between nonzeros (cuFasterTucker, section 4), and a change of basis elsewhere.
// Kokkos Kernels' gemm does the work.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// C (I x S) = A (I x R) B (R x S). C is overwritten and may not overlap A or B. Launches on `space` and
/// returns without waiting.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar>
void intermediates(Space const& space, FactorMatrix<Scalar, Space> const& A,
                   FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C);

#define POLYAD_INTERMEDIATES(Scalar)                                                      \
  template void intermediates(Kokkos::DefaultExecutionSpace const&,                       \
                              FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                              FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                              FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
extern POLYAD_INTERMEDIATES(float);
extern POLYAD_INTERMEDIATES(double);

}  // namespace polyad
