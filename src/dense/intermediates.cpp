// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/intermediates.hpp"

#include <KokkosBlas2_gemv.hpp>
#include <KokkosBlas3_gemm.hpp>

namespace polyad {

template <class Space, class Scalar>
void intermediates(Space const& space, FactorMatrix<Scalar, Space> const& A,
                   FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C) {
  POLYAD_EXPECTS(A.extent(1) == B.extent(0) && C.extent(0) == A.extent(0) && C.extent(1) == B.extent(1),
                 "A is ", A.extent(0), " x ", A.extent(1), ", B is ", B.extent(0), " x ", B.extent(1),
                 ", C is ", C.extent(0), " x ", C.extent(1), ": C = A B has no meaning");
  if (B.extent(1) == 1) {
    // Kokkos Kernels 4.4 turns such a gemm into a gemv that takes the columns of B and C as contiguous, which
    // they are not where rows are wider than one column.
    KokkosBlas::gemv(space, "N", Scalar(1), A, Kokkos::subview(B, Kokkos::ALL, 0), Scalar(0),
                     Kokkos::subview(C, Kokkos::ALL, 0));
    return;
  }
  KokkosBlas::gemm(space, "N", "N", Scalar(1), A, B, Scalar(0), C);
}

POLYAD_INTERMEDIATES(float);
POLYAD_INTERMEDIATES(double);

}  // namespace polyad
