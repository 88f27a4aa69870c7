// SPDX-License-Identifier: BSD-3-Clause
// solve_rows: A = V H^-1, the rows of an ALS update, once H^-1 (R x R) is known.
#pragma once

#include "dense/multiply_rows.hpp"

namespace polyad::detail {

/// A = V inverse, row by row; A and V are I x R and must not overlap. Launches on `space` and returns
/// without waiting.
template <class Space, class Scalar>
void solve_rows(Space const& space, FactorMatrix<Scalar, Space> const& V,
                FactorMatrix<Scalar, Space> const& inverse, FactorMatrix<Scalar, Space> const& A) {
  count_t const rank = inverse.extent(0);
  POLYAD_EXPECTS(
      inverse.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank && A.extent(0) == V.extent(0),
      "V is ", V.extent(0), " x ", V.extent(1), ", A is ", A.extent(0), " x ", A.extent(1),
      " and the inverse is ", rank, " x ", inverse.extent(1));
  multiply_rows(space, V, inverse, A);
}

}  // namespace polyad::detail
