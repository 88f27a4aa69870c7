// SPDX-License-Identifier: BSD-3-Clause
// Tucker decomposition by higher-order orthogonal iteration (HOOI; De Lathauwer, De Moor & Vandewalle, SIAM
// J. Matrix Anal. Appl. 21(4), 2000; Kolda & Bader, SIAM Review 51(3), 2009, Figure 4.4), for any storage
// format with an SpTTMc:
//
//   for n = 0 ... N - 1:  Y = X times U^(m)' along every mode m != n    (SpTTMc: I_n x product of other R_m)
//                         U^(n) = the R_n leading left singular vectors of Y   (leading_vectors.hpp)
//   G = U^(N-1)' Y, the core
//
// The U have orthonormal columns, so that ||X - G x U||^2 = ||X||^2 - ||G||^2, which gives the fit.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/dense/transposed_product.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tucker/leading_vectors.hpp"

namespace polyad {

/// A format with the product that HOOI needs.
template <class F>
concept TtmcFormat =
    Format<F> && requires(typename F::space_type const& space, F const& X,
                          std::vector<FactorMatrix<typename F::scalar_type, typename F::space_type>> const& U,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& Y) {
      { spttmc(space, X, U, 0, Y) } -> std::same_as<void>;
      { make_spttmc_output(space, X.extents(), U, 0) } -> std::same_as<std::remove_cvref_t<decltype(Y)>>;
    };

struct TuckerOptions {
  std::vector<count_t> ranks;  // R_0, ..., R_{N-1}
  int max_iterations            = 50;
  double tolerance              = 1e-6;  // stop when the fit changes by less; 0 never does
  double time_limit_s           = std::numeric_limits<double>::infinity();
  std::uint64_t seed            = 0;  // of the random start
  LeadingVectorsOptions vectors = {};
};

struct TuckerIteration {
  int iteration  = 0;  // from 1
  double fit     = 0;  // 1 - ||X - G x U|| / ||X||
  double delta   = 0;
  double seconds = 0;
};

template <class Scalar, class Space>
struct TuckerResult {
  std::vector<FactorMatrix<Scalar, Space>> factors;  // U^(n): I_n x R_n, orthonormal columns
  FactorMatrix<Scalar, Space> core;  // G unfolded: R_{N-1} x the product of the others, R_{N-2} fastest
  double fit     = 0;
  bool converged = false;
  std::string reason;  // "converged", "iterations", "time limit" or "stopped"
  std::vector<TuckerIteration> iterations;
};

/// Throws UsageError unless there are N ranks, each from 1 to I_n and to the product of the others.
inline void expect_tucker_ranks(Extents const& extents, std::vector<count_t> const& ranks) {
  POLYAD_EXPECTS(extents.order() >= 2, "a Tucker decomposition needs two modes or more");
  POLYAD_EXPECTS(ranks.size() == static_cast<std::size_t>(extents.order()), ranks.size(),
                 " ranks for a tensor of order ", extents.order());
  for (std::size_t n = 0; n < ranks.size(); ++n)
    POLYAD_EXPECTS(ranks[n] >= 1 && ranks[n] <= extents[static_cast<int>(n)], "rank ", ranks[n], " of mode ",
                   n, ": it has ", extents[static_cast<int>(n)], " rows");
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    count_t others = 1;
    for (std::size_t m = 0; m < ranks.size(); ++m)
      if (m != n) others = checked_product("the core", others, ranks[m]);
    POLYAD_EXPECTS(ranks[n] <= others, "rank ", ranks[n], " of mode ", n,
                   " exceeds the product of the others, ", others);
  }
}

/// Orthonormal bases of counter_uniform(seed, n, i, r). Waits for `space`.
/// \throws UsageError; MemoryError
template <class Scalar, class Space>
std::vector<FactorMatrix<Scalar, Space>> random_tucker_start(Space const& space, Extents const& extents,
                                                             TuckerOptions const& options) {
  expect_tucker_ranks(extents, options.ranks);
  LeadingVectors<Scalar, Space> vectors(space, options.vectors);
  std::vector<FactorMatrix<Scalar, Space>> U;
  for (int n = 0; n < extents.order(); ++n) {
    count_t const rank = options.ranks[static_cast<std::size_t>(n)];
    auto const random  = make_factor_matrix<Scalar>(space, "polyad::tucker_start", extents[n], rank);
    U.push_back(make_factor_matrix<Scalar>(space, "polyad::tucker_factor", extents[n], rank));
    Kokkos::parallel_for(
        "polyad::tucker_start", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, extents[n]),
        detail::FillRandom<Scalar, Space>{random, options.seed, static_cast<std::uint64_t>(n)});
    vectors.orthonormalize(random, U.back());
  }
  return U;
}

/// HOOI from factors with orthonormal columns, which are overwritten (mode 0's plays no part but as a guess).
/// `on_iteration` is called after each iteration; false ends the run. Waits for `space`.
/// \throws UsageError when ranks or shapes do not match; MemoryError before an output of SpTTMc is allocated
///         that does not fit; NumericalError when the tensor is zero or not finite
template <TtmcFormat F>
TuckerResult<typename F::scalar_type, typename F::space_type> tucker_hooi(
    typename F::space_type const& space, F const& X, TuckerOptions const& options,
    std::vector<FactorMatrix<typename F::scalar_type, typename F::space_type>> const& start,
    std::function<bool(TuckerIteration const&)> const& on_iteration = {}) {
  using Scalar          = typename F::scalar_type;
  using Space           = typename F::space_type;
  Extents const extents = X.extents();
  int const order       = extents.order();
  expect_tucker_ranks(extents, options.ranks);
  POLYAD_EXPECTS(start.size() == static_cast<std::size_t>(order), start.size(), " factors to start from");
  for (int n = 0; n < order; ++n) {
    auto const& U = start[static_cast<std::size_t>(n)];
    POLYAD_EXPECTS(U.extent(0) == extents[n] && U.extent(1) == options.ranks[static_cast<std::size_t>(n)],
                   "the start of mode ", n, " is ", U.extent(0), " x ", U.extent(1));
  }
  POLYAD_EXPECTS(options.max_iterations >= 1, "at least one iteration");
  double const norm_squared = X.norm_squared();
  if (!(norm_squared > 0) || !std::isfinite(norm_squared))
    throw NumericalError("the tensor's norm is " + std::to_string(std::sqrt(norm_squared)) +
                         ": no fit can be told");

  TuckerResult<Scalar, Space> result;
  result.factors = start;
  std::vector<FactorMatrix<Scalar, Space>> Y;  // one a mode: all are refused before any is computed
  for (int n = 0; n < order; ++n) Y.push_back(make_spttmc_output(space, extents, result.factors, n));
  LeadingVectors<Scalar, Space> vectors(space, options.vectors);
  result.core =
      make_factor_matrix<Scalar>(space, "polyad::tucker_core", options.ranks.back(), Y.back().extent(1));
  result.reason = "iterations";
  Kokkos::Timer const clock;
  for (int iteration = 1; iteration <= options.max_iterations; ++iteration) {
    double const begin = clock.seconds();
    double captured    = 0;  // ||G||^2: the last mode's leading squares
    for (int n = 0; n < order; ++n) {
      auto const at = static_cast<std::size_t>(n);
      spttmc(space, X, result.factors, n, Y[at]);
      captured = vectors.find(Y[at], result.factors[at]);
    }
    if (!std::isfinite(captured))
      throw NumericalError("the factors are not finite: iteration " + std::to_string(iteration));
    TuckerIteration step{iteration, 1 - std::sqrt(std::max(norm_squared - captured, 0.0) / norm_squared), 0,
                         0};
    step.delta   = step.fit - result.fit;
    step.seconds = clock.seconds() - begin;
    result.fit   = step.fit;
    result.iterations.push_back(step);
    if (on_iteration && !on_iteration(step)) {
      result.reason = "stopped";
      break;
    }
    if (iteration > 1 && std::abs(step.delta) < options.tolerance) {
      result.converged = true;
      result.reason    = "converged";
      break;
    }
    if (clock.seconds() > options.time_limit_s) {
      result.reason = "time limit";
      break;
    }
  }
  auto const workspace =
      make_transposed_product_workspace(space, result.core.extent(0), result.core.extent(1));
  transposed_product(space, 1, result.factors.back(), Y.back(), workspace, result.core);
  space.fence("polyad::tucker_hooi");
  return result;
}

}  // namespace polyad
