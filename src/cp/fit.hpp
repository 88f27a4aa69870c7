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

/// Sum over the rows of V(i, :) . (weights * A(i, :)).
template <class Space, class Scalar>
struct InnerProduct {
  using value_type = double;
  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  Kokkos::View<double*, typename Space::device_type> weights;
  static constexpr count_t rows_per_team = 256;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member, double& sum) const {
    count_t const first = static_cast<count_t>(member.league_rank()) * rows_per_team;
    count_t const rows  = Kokkos::min(count_t(rows_per_team), A.extent(0) - first);
    double team_sum     = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, rows),
        [&](count_t const i, double& rows_sum) {
          double row_sum = 0;
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(member, A.extent(1)),
              [&](count_t const r, double& partial) {
                partial +=
                    weights(r) * static_cast<double>(V(first + i, r)) * static_cast<double>(A(first + i, r));
              },
              row_sum);
          Kokkos::single(Kokkos::PerThread(member), [&] { rows_sum += row_sum; });
        },
        team_sum);
    Kokkos::single(Kokkos::PerTeam(member), [&] { sum += team_sum; });
  }
};

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

/// What an iteration of CP-ALS leaves on the device for the host: <X, M>, ||M||^2, and how often the
/// pseudo-inverse was needed so far; the last counts for an update that is made only to learn its scale.
enum FitNumber : int { inner_product, model_norm_squared, gram_fallbacks, trial_fallbacks, fit_numbers };

/// Computes <X, M> and ||M||^2 into numbers(inner_product) and numbers(model_norm_squared). A is the last
/// updated factor, V its MTTKRP, and the model is that of the weights. Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void fit_terms(Space const& space, FactorMatrix<Scalar, Space> const& V, FactorMatrix<Scalar, Space> const& A,
               GramMatrices<Space> const& grams,
               Kokkos::View<double*, typename Space::device_type> const& weights,
               DeviceNumbers<Space> const& numbers) {
  using Inner             = detail::InnerProduct<Space, Scalar>;
  LaunchShape const shape = launch_shape<Space>(ceil_div(A.extent(0), Inner::rows_per_team), 8, 32);
  Kokkos::parallel_reduce("polyad::inner_product", team_policy(space, shape), Inner{V, A, weights},
                          Kokkos::subview(numbers, static_cast<int>(inner_product)));
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
