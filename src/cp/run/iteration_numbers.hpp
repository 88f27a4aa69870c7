// SPDX-License-Identifier: BSD-3-Clause
// The numbers of an iteration of CP-ALS for the fit's formula (fit/fit.hpp) and for degenerate models. With V
// the last mode's MTTKRP and A its factor, <X, M> = sum over i, r of lambda_r V(i, r) A(i, r);
// ||M||^2 = lambda' (Hadamard product H of the Gram matrices) lambda.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The numbers that an iteration of CP-ALS computes on the device for the host. The pseudo-inverses are
/// counted from the start of the run; those of trial updates only find the scale.
enum FitNumber : int {
  inner_product,       // <X, M>
  model_norm_squared,  // ||M||^2
  component_norms,     // the sum of the components' norms lambda_r H(r, r)^(1/2)
  opposed_norm,        // the largest norm of the smaller component in a pair that nearly cancels
  gram_fallbacks,
  nearly_singular,  // raised where H was regular, but nearly singular
  trial_fallbacks,
  trial_nearly_singular,
  largest_change,  // by an entry's own update, as a norm of the model (ModeProblem)
  penalties,       // what the objective adds to 1/2 ||X - M||^2
  fit_numbers
};

/// Two components nearly cancel if their congruence, the cosine of their angle, is below this.
inline constexpr double opposed_congruence = -0.9;

/// model_norm_squared, component_norms and opposed_norm.
template <class Space>
struct ModelNorm {
  using value_type             = double[];
  static constexpr int numbers = 3;
  using size_type              = typename Space::size_type;
  size_type value_count        = numbers;
  GramMatrices<Space> grams;
  Kokkos::View<double*, typename Space::device_type> weights;

  KOKKOS_FUNCTION void operator()(count_t e, double* result) const {
    count_t const i = e / weights.extent(0);
    count_t const j = e % weights.extent(0);
    double product  = weights(i) * weights(j);
    for (count_t n = 0; n < grams.extent(0); ++n) product *= grams(n, i, j);
    result[0] += product;
    if (i == j) result[1] += Kokkos::sqrt(Kokkos::abs(product));
    if (i >= j || product >= 0) return;
    double const one = norm_of(i), other = norm_of(j);
    if (product < opposed_congruence * one * other)
      result[2] = Kokkos::max(result[2], Kokkos::min(one, other));
  }
  KOKKOS_FUNCTION void init(double* result) const {
    for (int k = 0; k < numbers; ++k) result[k] = 0;
  }
  KOKKOS_FUNCTION void join(double* result, double const* other) const {
    result[0] += other[0];
    result[1] += other[1];
    result[2] = Kokkos::max(result[2], other[2]);
  }

private:
  /// The norm of component r.
  [[nodiscard]] KOKKOS_FUNCTION double norm_of(count_t r) const {
    double product = weights(r) * weights(r);
    for (count_t n = 0; n < grams.extent(0); ++n) product *= grams(n, r, r);
    return Kokkos::sqrt(product);
  }
};

/// Computes ModelNorm's numbers. The update of the last factor has computed <X, M>. Launches on `space` and
/// returns without waiting.
template <class Space>
void model_norm(Space const& space, GramMatrices<Space> const& grams,
                Kokkos::View<double*, typename Space::device_type> const& weights,
                DeviceNumbers<Space> const& numbers) {
  count_t const rank  = weights.extent(0);
  constexpr int first = model_norm_squared;
  static_assert(component_norms == first + 1 && opposed_norm == first + 2);
  ModelNorm<Space> kernel;
  kernel.grams   = grams;
  kernel.weights = weights;
  Kokkos::parallel_reduce(
      "polyad::model_norm", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rank * rank),
      kernel, Kokkos::subview(numbers, Kokkos::make_pair(first, first + ModelNorm<Space>::numbers)));
}

}  // namespace polyad::detail
