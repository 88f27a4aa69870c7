// SPDX-License-Identifier: BSD-3-Clause
// Adam (Kingma & Ba, "Adam: a method for stochastic optimization", ICLR 2015, Algorithm 1) for one matrix of
// a model. The whole gradient of a mode comes at once, so this is its full-batch form.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>

#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The decaying means of the gradient and of its square.
template <class Scalar, class Space>
struct AdamState {
  AdamState() = default;
  AdamState(Space const& space, FactorMatrix<Scalar, Space> const& matrix)
      : mean(make_factor_matrix<Scalar>(space, "polyad::adam_mean", matrix.extent(0), matrix.extent(1))),
        square(make_factor_matrix<Scalar>(space, "polyad::adam_square", matrix.extent(0), matrix.extent(1))) {
  }
  FactorMatrix<Scalar, Space> mean;
  FactorMatrix<Scalar, Space> square;
};

template <class Scalar, class Space>
struct AdamStep {
  FactorMatrix<Scalar, Space> matrix;
  FactorMatrix<Scalar, Space> gradient;
  AdamState<Scalar, Space> state;
  Scalar ridge;
  Scalar first;
  Scalar second;
  Scalar step;    // alpha / (1 - beta_1^t)
  Scalar shrink;  // 1 / sqrt(1 - beta_2^t)
  Scalar epsilon;
  KOKKOS_FUNCTION void operator()(count_t entry) const {
    count_t const i    = entry / matrix.extent(1);
    count_t const j    = entry % matrix.extent(1);
    Scalar const g     = gradient(i, j) + ridge * matrix(i, j);
    Scalar const m     = first * state.mean(i, j) + (1 - first) * g;
    Scalar const v     = second * state.square(i, j) + (1 - second) * g * g;
    state.mean(i, j)   = m;
    state.square(i, j) = v;
    matrix(i, j) -= step * m / (Kokkos::sqrt(v) * shrink + epsilon);
  }
};

/// Step t (from 1 on) for a matrix with the given gradient of the loss, to which ridge times the matrix is
/// added. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void adam_step(Space const& space, AdamRates const& rates, int t, double ridge,
               FactorMatrix<Scalar, Space> const& gradient, AdamState<Scalar, Space> const& state,
               FactorMatrix<Scalar, Space> const& matrix) {
  auto const scalar = [](double x) { return static_cast<Scalar>(x); };
  Kokkos::parallel_for(
      "polyad::adam_step",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0) * matrix.extent(1)),
      detail::AdamStep<Scalar, Space>{
          matrix, gradient, state, scalar(ridge), scalar(rates.first), scalar(rates.second),
          scalar(rates.step / (1 - std::pow(rates.first, t))),
          scalar(1 / std::sqrt(1 - std::pow(rates.second, t))), scalar(rates.epsilon)});
}

}  // namespace polyad::detail
