// SPDX-License-Identifier: BSD-3-Clause
// Compiled where a backend takes it (dense/dense_tuning.hpp), and for the tests of all.
#include "dense/blas.hpp"

#include <KokkosBlas3_gemm.hpp>
#include <algorithm>

namespace polyad::detail {
namespace {

/// Kokkos Kernels casts extents to int.
constexpr count_t most_rows = count_t(1) << 30;

/// Calls f(range) for pieces of so many rows.
template <class F>
void for_each_piece(count_t rows, F&& f) {
  for (count_t first = 0; first < rows; first += most_rows)
    f(Kokkos::make_pair(first, std::min(rows, first + most_rows)));
}

}  // namespace

template <class Space, class Scalar>
void blas_product(Space const& space, FactorMatrix<Scalar, Space> const& A,
                  FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<Scalar, Space> const left   = Kokkos::subview(A, rows, Kokkos::ALL);
    FactorMatrix<Scalar, Space> const output = Kokkos::subview(C, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "N", "N", Scalar(1), left, B, Scalar(0), output);
  });
}

template <class Space>
void blas_gram(Space const& space, FactorMatrix<double, Space> const& A,
               Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> const& G) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<double, Space> const piece = Kokkos::subview(A, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "T", "N", 1.0, piece, piece, rows.first == 0 ? 0.0 : 1.0, G);
  });
}

template <class Space>
void blas_transposed_product(Space const& space, double scale, FactorMatrix<double, Space> const& A,
                             FactorMatrix<double, Space> const& B, FactorMatrix<double, Space> const& D) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<double, Space> const left  = Kokkos::subview(A, rows, Kokkos::ALL);
    FactorMatrix<double, Space> const right = Kokkos::subview(B, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "T", "N", scale, left, right, rows.first == 0 ? 0.0 : 1.0, D);
  });
}

using Default = Kokkos::DefaultExecutionSpace;
template void blas_product(Default const&, FactorMatrix<float, Default> const&,
                           FactorMatrix<float, Default> const&, FactorMatrix<float, Default> const&);
template void blas_product(Default const&, FactorMatrix<double, Default> const&,
                           FactorMatrix<double, Default> const&, FactorMatrix<double, Default> const&);
template void blas_gram(Default const&, FactorMatrix<double, Default> const&,
                        Kokkos::View<double**, Kokkos::LayoutRight, Default::device_type> const&);
template void blas_transposed_product(Default const&, double, FactorMatrix<double, Default> const&,
                                      FactorMatrix<double, Default> const&,
                                      FactorMatrix<double, Default> const&);

}  // namespace polyad::detail
