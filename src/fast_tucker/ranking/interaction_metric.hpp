// SPDX-License-Identifier: BSD-3-Clause
// with_interaction_metric: a model whose rows of C^(n) have the scalar products of what they add to
// predictions. Two rows c and d of C^(n) add sum_r c_r p_r and sum_r d_r p_r, where p is the product of the
// other modes' rows. Over all rows of these the sum of the products of the two is
//
//   c' G d,   G = the Hadamard product over m != n of C^(m)' C^(m)  (R x R).
//
// The columns of C^(n) may be scaled, if those of another mode are scaled back: predictions do not change,
// and neither does G's scalar product, but that of the rows themselves does. With G = L L' the rows c' L have
// it, and these are the rows of A^(n) (B^(n) L).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/transposed_product.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// Row-major square matrices of doubles in host memory.
using HostSquare = std::vector<double>;

/// B' G B, J x J by J x R.
inline HostSquare congruent(HostSquare const& G, std::vector<double> const& B, std::size_t J, std::size_t R) {
  std::vector<double> GB(J * R);
  for (std::size_t i = 0; i < J; ++i)
    for (std::size_t j = 0; j < J; ++j)
      for (std::size_t r = 0; r < R; ++r) GB[i * R + r] += G[i * J + j] * B[j * R + r];
  HostSquare result(R * R);
  for (std::size_t j = 0; j < J; ++j)
    for (std::size_t q = 0; q < R; ++q)
      for (std::size_t r = 0; r < R; ++r) result[q * R + r] += B[j * R + q] * GB[j * R + r];
  return result;
}

/// L with G = L L', for a positive semidefinite G. Directions that G lacks get zeros.
inline HostSquare cholesky(HostSquare const& G, std::size_t R) {
  constexpr double rounding = 1e-13;
  HostSquare L(R * R);
  for (std::size_t j = 0; j < R; ++j) {
    double pivot = G[j * R + j];
    for (std::size_t k = 0; k < j; ++k) pivot -= L[j * R + k] * L[j * R + k];
    if (!(pivot > rounding * G[j * R + j])) continue;
    L[j * R + j] = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < R; ++i) {
      double sum = G[i * R + j];
      for (std::size_t k = 0; k < j; ++k) sum -= L[i * R + k] * L[j * R + k];
      L[i * R + j] = sum / L[j * R + j];
    }
  }
  return L;
}

/// Scales the numbers so that the largest magnitude is 1 and products stay within their range.
inline void scale_to_one(std::vector<double>& numbers) {
  double largest = 0;
  for (double const x : numbers) largest = std::max(largest, std::abs(x));
  if (!(largest > 0) || !std::isfinite(largest)) return;
  for (double& x : numbers) x /= largest;
}

/// The model with another B^(mode); it shares the rest. Waits for `space`. \throws MemoryError
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> with_interaction_metric(Space const& space,
                                                       FastTuckerModel<Scalar, Space> model, int mode) {
  auto const R = static_cast<std::size_t>(model.rank());
  HostSquare G(R * R, 1.0);
  for (int n = 0; n < model.order(); ++n) {
    if (n == mode) continue;
    auto const& A       = model.A(n);
    count_t const J     = A.extent(1);
    auto const gram     = make_factor_matrix<Scalar>(space, "polyad::factor_gram", J, J);
    auto const sums     = make_transposed_product_workspace(space, J, J);
    double const weight = 1 / static_cast<double>(std::max<count_t>(A.extent(0), 1));
    transposed_product(space, weight, A, A, sums, gram);
    auto of_mode = congruent(to_host<Scalar>(space, gram), to_host<Scalar>(space, model.B(n)),
                             static_cast<std::size_t>(J), R);
    scale_to_one(of_mode);
    for (std::size_t k = 0; k < G.size(); ++k) G[k] *= of_mode[k];
  }
  auto const L = cholesky(G, R);
  auto const B = to_host<Scalar>(space, model.B(mode));
  std::vector<double> product(B.size());
  for (std::size_t j = 0; j < B.size() / R; ++j)
    for (std::size_t q = 0; q < R; ++q)
      for (std::size_t r = 0; r < R; ++r) product[j * R + r] += B[j * R + q] * L[q * R + r];
  scale_to_one(product);
  model.B(mode) = make_factor_matrix<Scalar>(space, "polyad::core", B.size() / R, R);
  from_host<Scalar>(space, product, model.B(mode));
  space.fence("polyad::interaction_metric");
  return model;
}

}  // namespace polyad::detail
