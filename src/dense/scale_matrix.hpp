// SPDX-License-Identifier: BSD-3-Clause
// scale_matrix: multiplies all entries of a matrix by one number.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar>
struct ScaleMatrix {
  FactorMatrix<Scalar, Space> matrix;
  double factor;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / matrix.extent(1);
    count_t const r = e % matrix.extent(1);
    matrix(i, r)    = static_cast<Scalar>(matrix(i, r) * factor);
  }
};

/// A *= factor. Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void scale_matrix(Space const& space, FactorMatrix<Scalar, Space> const& A, double factor) {
  Kokkos::parallel_for("polyad::scale_matrix",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, A.size()),
                       ScaleMatrix<Space, Scalar>{A, factor});
}

}  // namespace polyad::detail
