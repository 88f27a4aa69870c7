// SPDX-License-Identifier: BSD-3-Clause
// orthogonal_squares: whether the columns of a core matrix are orthogonal and of equal length, as fill_start
// makes them. If so, least squares for rows need less work (RowProblem::squares).
#pragma once

#include <cmath>
#include <limits>

#include "dense/transposed_product.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The number s for which B' B = s I up to rounding, or 0. Waits for `space`. \throws MemoryError
template <class Scalar, class Space>
double orthogonal_squares(Space const& space, FactorMatrix<Scalar, Space> const& B) {
  count_t const R = B.extent(1);
  auto const gram = make_factor_matrix<Scalar>(space, "polyad::core_gram", R, R);
  transposed_product(space, 1.0, B, B, make_transposed_product_workspace(space, R, R), gram);
  auto const host = to_host<Scalar>(space, gram);
  double trace    = 0;
  for (count_t r = 0; r < R; ++r) trace += host[r * R + r];
  double const squares = trace / static_cast<double>(R);
  double const allowed = 4 * static_cast<double>(B.extent(0)) *
                         static_cast<double>(std::numeric_limits<Scalar>::epsilon()) * squares;
  for (count_t r = 0; r < R; ++r)
    for (count_t s = 0; s <= r; ++s)
      if (!(std::abs(host[r * R + s] - (r == s ? squares : 0.0)) <= allowed)) return 0;
  return squares;
}

}  // namespace polyad::detail
