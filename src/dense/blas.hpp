// SPDX-License-Identifier: BSD-3-Clause
// What the dense part asks of a BLAS, through Kokkos Kernels: gemm for wide matrices on a device, where it is
// cuBLAS's. dense_tuning.hpp says when. Hosts have kernels of their own, since Kokkos Kernels is several
// times slower there without a BLAS.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// C (I x S) = A (I x K) B (K x S) for K and S of 2 or more: Kokkos Kernels 4.4 takes a padded row of one
/// number for the next rows' too. Launches on `space` and returns without waiting; the shapes fit each
/// other.
template <class Space, class Scalar>
void blas_product(Space const& space, FactorMatrix<Scalar, Space> const& A,
                  FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C);

/// G (R x R) = A' A for A (I x R), I > 0. Launches on `space` and returns without waiting; the shapes fit
/// each other.
template <class Space>
void blas_gram(Space const& space, FactorMatrix<double, Space> const& A,
               Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> const& G);

}  // namespace polyad::detail
