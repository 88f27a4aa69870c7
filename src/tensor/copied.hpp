// SPDX-License-Identifier: BSD-3-Clause
// Copies of factor matrices, with packed rows: for a start that its caller keeps.
#pragma once

#include <vector>

#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// Does not wait. \throws MemoryError
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> copied(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  auto const copy =
      make_factor_matrix<Scalar>(space, "polyad::copied_factor", matrix.extent(0), matrix.extent(1));
  copy_matrix(space, copy, matrix);
  return copy;
}

/// All of them. Does not wait. \throws MemoryError
template <class Scalar, class Space>
FactorMatrices<Scalar, Space> copied(Space const& space, FactorMatrices<Scalar, Space> factors) {
  for (int n = 0; n < factors.order(); ++n) factors[n] = copied<Scalar, Space>(space, factors[n]);
  return factors;
}
template <class Scalar, class Space>
std::vector<FactorMatrix<Scalar, Space>> copied(Space const& space,
                                                std::vector<FactorMatrix<Scalar, Space>> factors) {
  for (auto& matrix : factors) matrix = copied<Scalar, Space>(space, matrix);
  return factors;
}

/// The matrices A^(n) and B^(n); mean, biases and drifts are shared. Does not wait. \throws MemoryError
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> copied(Space const& space, FastTuckerModel<Scalar, Space> model) {
  for (int n = 0; n < model.order(); ++n) {
    model.A(n) = copied<Scalar, Space>(space, model.A(n));
    model.B(n) = copied<Scalar, Space>(space, model.B(n));
  }
  return model;
}

}  // namespace polyad::detail
