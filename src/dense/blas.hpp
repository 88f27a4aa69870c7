// SPDX-License-Identifier: BSD-3-Clause
// The dense kernels' calls of a BLAS, through Kokkos Kernels: gemm for wide matrices on a device, which is
// cuBLAS's there. dense_tuning.hpp decides when. Hosts have their own kernels, since Kokkos Kernels is
// several times slower there without a BLAS.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// C (I x S) = A (I x K) B (K x S), for K and S of at least 2. With a single column, Kokkos Kernels 4.4 would
/// take a row's padding for the next rows. Launches on `space` and returns without waiting. The shapes must
/// match.
template <class Space, class Scalar>
void blas_product(Space const& space, FactorMatrix<Scalar, Space> const& A,
                  FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C);

/// G (R x R) = A' A for A (I x R), I > 0. Launches on `space` and returns without waiting. The shapes must
/// match.
template <class Space>
void blas_gram(Space const& space, FactorMatrix<double, Space> const& A,
               Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> const& G);

/// D (J x R) = scale A' B for A (I x J) and B (I x R), I > 0, J and R of at least 2. Launches on `space` and
/// returns without waiting. The shapes must match.
template <class Space>
void blas_transposed_product(Space const& space, double scale, FactorMatrix<double, Space> const& A,
                             FactorMatrix<double, Space> const& B, FactorMatrix<double, Space> const& D);

/// The same for floats, which a BLAS would sum as floats: they become doubles, a piece of rows at a time.
/// \param sums     A' B as doubles
/// \param scratch  for a piece: the more the better, at least J + R numbers
/// \throws UsageError when the scratch has no room for a row of both
template <class Space>
void blas_transposed_product(Space const& space, FactorMatrix<float, Space> const& A,
                             FactorMatrix<float, Space> const& B,
                             Kokkos::View<double*, typename Space::device_type> const& scratch,
                             FactorMatrix<double, Space> const& sums);

}  // namespace polyad::detail
