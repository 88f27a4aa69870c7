// SPDX-License-Identifier: BSD-3-Clause
// The fit of a CP model M to a tensor X: 1 - ||X - M|| / ||X|| (Frobenius norms, the zeros of X included),
// from ||X - M||^2 = ||X||^2 - 2 <X, M> + ||M||^2. With V the last mode's MTTKRP and A its factor,
// <X, M> = sum over i, r of lambda_r V(i, r) A(i, r); ||M||^2 = lambda' (Hadamard product of Grams) lambda.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "dense/normal_equations.hpp"
#include "kernel/launch_shape.hpp"

namespace polyad::detail {

/// ||M||^2
template <class Space>
struct ModelNorm {
  GramMatrices<Space> grams;
  Kokkos::View<double*, typename Space::device_type> weights;

  KOKKOS_FUNCTION void operator()(count_t e, double& sum) const {
    count_t const i = e / weights.extent(0);
    count_t const j = e % weights.extent(0);
    double product  = weights(i) * weights(j);
    for (count_t n = 0; n < grams.extent(0); ++n) product *= grams(n, i, j);
    sum += product;
  }
};

/// The numbers that an iteration of CP-ALS computes on the device for the host: <X, M>, ||M||^2, and the
/// count of pseudo-inverses so far. The last number counts the pseudo-inverses of trial updates, which only
/// find the scale.
enum FitNumber : int { inner_product, model_norm_squared, gram_fallbacks, trial_fallbacks, fit_numbers };

/// Computes ||M||^2 into numbers(model_norm_squared). The update of the last factor has computed <X, M>.
/// Launches on `space` and returns without waiting.
template <class Space>
void model_norm(Space const& space, GramMatrices<Space> const& grams,
                Kokkos::View<double*, typename Space::device_type> const& weights,
                DeviceNumbers<Space> const& numbers) {
  count_t const rank = weights.extent(0);
  Kokkos::parallel_reduce("polyad::model_norm",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rank * rank),
                          detail::ModelNorm<Space>{grams, weights},
                          Kokkos::subview(numbers, static_cast<int>(model_norm_squared)));
}

/// 1 - ||X - M|| / ||X||; for a tensor of zeros 1 if the model is zero too, else minus infinity.
inline double fit_of(double norm_squared, double inner, double model_norm_sq) {
  double const residual = std::sqrt(std::max(0.0, norm_squared - 2 * inner + model_norm_sq));
  if (std::isnan(norm_squared - 2 * inner + model_norm_sq)) return std::nan("");
  if (norm_squared == 0) return residual == 0 ? 1 : -HUGE_VAL;
  return 1 - residual / std::sqrt(norm_squared);
}

}  // namespace polyad::detail
