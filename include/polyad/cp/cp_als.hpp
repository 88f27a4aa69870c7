// SPDX-License-Identifier: BSD-3-Clause
// cp_als: the canonical polyadic decomposition by alternating least squares (Kolda & Bader, SIAM Review
// 51(3), 2009, Figure 3.3; GenTen, section 3), one function for every format and execution space.
//
//   for n = 0 ... N - 1:  V = MTTKRP(X, A, n);  A^(n) = V (Hadamard product of A^(m)'A^(m), m != n)^+
//
// The columns are not normalised between updates: the Gram matrices carry their norms, and the R x R algebra
// divides them out (dense/normal_equations.hpp), so that a factor is read and written once an update. The
// iterates are those of the normalised method, up to rounding; lambda is split off at the end.
//
// Inside an iteration nothing is allocated and the host waits once, for the numbers of the fit.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/phase_timer.hpp"
#include "polyad/cp/arrange_components.hpp"
#include "polyad/cp/fit.hpp"
#include "polyad/dense/gram.hpp"
#include "polyad/dense/normal_equations.hpp"
#include "polyad/dense/normalize_columns.hpp"
#include "polyad/dense/update_factor.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

struct CpAlsOptions {
  count_t rank        = 16;
  int max_iterations  = 50;
  double tolerance    = 1e-4;  // stop when the fit changes by less between two iterations
  double time_limit_s = std::numeric_limits<double>::infinity();
  std::uint64_t seed  = 0;      // of the random start (core/counter_rng.hpp)
  bool time_phases    = false;  // seconds per phase, at the price of a fence around each
};

/// What the callback learns after each iteration.
struct CpAlsIteration {
  int iteration;  // counts from 1
  double fit;     // 1 - ||X - M|| / ||X||
  double delta;   // change of the fit against the iteration before; the fit itself at the first
  double seconds;
  std::map<std::string, double> phases;  // seconds; empty unless CpAlsOptions::time_phases
};

enum class StopReason { converged, max_iterations, time_limit, interrupted };

inline char const* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::max_iterations:
      return "iteration limit";
    case StopReason::time_limit:
      return "time limit";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "unknown";
}

template <class Scalar, class Space>
struct CpAlsResult {
  Ktensor<Scalar, Space> model;  // normalised, in canonical form (cp/arrange_components.hpp)
  double fit             = 0;
  bool converged         = false;
  StopReason reason      = StopReason::max_iterations;
  count_t gram_fallbacks = 0;  // updates that took the pseudo-inverse
  std::vector<CpAlsIteration> iterations;
};

namespace detail {

/// Everything an iteration writes besides the factors; allocated once.
template <class Scalar, class Space>
struct CpAlsWorkspace {
  CpAlsWorkspace(Space const& space, Extents const& extents, count_t rank) : gram_sums(space, rank) {
    auto const order = static_cast<count_t>(extents.order());
    count_t longest  = 0;
    for (int n = 0; n < extents.order(); ++n) longest = std::max(longest, extents[n]);
    expect_fits(space, "the Gram matrices", checked_product("the Gram matrices", order + 2, rank * rank),
                sizeof(double));
    V       = make_factor_matrix<Scalar>(space, "polyad::mttkrp_output", longest, rank);
    inverse = make_factor_matrix<Scalar>(space, "polyad::inverse_gram", rank, rank);
    grams   = GramMatrices<Space>(Kokkos::view_alloc(space, "polyad::grams"), order, rank, rank);
    scratch = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::normal_equations"),
                                   normal_equations_scratch(rank));
    weights = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::weights"), rank);
    Kokkos::deep_copy(space, weights, 1.0);
    numbers      = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::fit_numbers"),
                                   static_cast<count_t>(fit_numbers));
    host_numbers = Kokkos::create_mirror_view(Kokkos::SharedHostPinnedSpace(), numbers);
  }
  [[nodiscard]] GramMatrix<Space> gram_of(int n) const {
    return Kokkos::subview(grams, n, Kokkos::ALL, Kokkos::ALL);
  }
  [[nodiscard]] FactorMatrix<Scalar, Space> output(count_t rows) const {
    return Kokkos::subview(V, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }

  GramWorkspace<Space> gram_sums;
  FactorMatrix<Scalar, Space> V;        // the longest mode's MTTKRP, shared by all modes
  FactorMatrix<Scalar, Space> inverse;  // R x R
  GramMatrices<Space> grams;            // N x R x R
  DeviceNumbers<Space> scratch;
  DeviceNumbers<Space> weights;  // lambda while it lies in the factors: ones
  DeviceNumbers<Space> numbers;  // FitNumber
  typename DeviceNumbers<Space>::host_mirror_type host_numbers;
};

}  // namespace detail

/// Factors X, starting from `start` (used as it is, with lambda = 1; overwritten by the result).
/// `callback(CpAlsIteration const&) -> bool` is called after each iteration; false ends the run.
/// Waits for `space`.
/// \throws UsageError when shapes do not match; MemoryError before allocating; NumericalError when the fit
///         stops being a number
template <Format F, class Callback>
CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(
    typename F::space_type const& space, F const& X, CpAlsOptions const& options,
    FactorMatrices<typename F::scalar_type, typename F::space_type> const& start, Callback&& callback) {
  using Scalar          = typename F::scalar_type;
  using Space           = typename F::space_type;
  Extents const extents = X.extents();
  int const order       = extents.order();
  POLYAD_EXPECTS(order >= 2, "CP-ALS needs a tensor of at least two modes");
  POLYAD_EXPECTS(start.rank() == options.rank, "the start has rank ", start.rank(), ", not ", options.rank);
  expect_factors(start, extents);
  double const norm_squared = X.norm_squared();
  if (!std::isfinite(norm_squared)) throw NumericalError("the tensor's norm is not a finite number");

  auto const& factors = start;
  detail::CpAlsWorkspace<Scalar, Space> work(space, extents, options.rank);
  auto format_workspace = X.make_workspace(space, options.rank);
  PhaseTimer timer(options.time_phases);
  CpAlsResult<Scalar, Space> result;
  result.model.factors = factors;

  for (int n = 0; n < order; ++n) gram(space, factors[n], work.gram_sums, work.gram_of(n));
  space.fence("polyad::cp_als");  // so that the first iteration's time is its own
  Kokkos::Timer const total;
  for (int iteration = 1; iteration <= options.max_iterations; ++iteration) {
    Kokkos::Timer const clock;
    timer.reset();
    for (int n = 0; n < order; ++n) {
      auto const V = work.output(extents[n]);
      timer(space, "normal_equations", [&] {
        normal_equations(space, work.grams, n, work.scratch,
                         DeviceNumbers<Space>(Kokkos::subview(
                             work.numbers, Kokkos::make_pair(int(gram_fallbacks), int(fit_numbers)))),
                         work.inverse);
      });
      timer(space, "mttkrp", [&] { mttkrp(space, X, factors, n, format_workspace, V); });
      timer(space, "update",
            [&] { update_factor(space, V, work.inverse, factors[n], work.gram_sums, work.gram_of(n)); });
    }
    timer(space, "fit", [&] {
      fit_terms(space, work.output(extents[order - 1]), factors[order - 1], work.grams, work.weights,
                work.numbers);
      Kokkos::deep_copy(space, work.host_numbers, work.numbers);
      space.fence("polyad::cp_als");
    });
    double const previous = result.iterations.empty() ? 0 : result.fit;
    result.fit =
        fit_of(norm_squared, work.host_numbers(inner_product), work.host_numbers(model_norm_squared));
    if (!std::isfinite(result.fit) && norm_squared > 0)
      throw NumericalError("the fit is not a finite number after iteration " + std::to_string(iteration));
    result.gram_fallbacks = static_cast<count_t>(work.host_numbers(gram_fallbacks));
    result.iterations.push_back(
        {iteration, result.fit, result.fit - previous, clock.seconds(), timer.seconds()});
    if (!callback(std::as_const(result.iterations.back()))) {
      result.reason = StopReason::interrupted;
      break;
    }
    if (iteration > 1 && std::abs(result.fit - previous) < options.tolerance) {
      result.converged = true;
      result.reason    = StopReason::converged;
      break;
    }
    if (total.seconds() >= options.time_limit_s) {
      result.reason = StopReason::time_limit;
      break;
    }
  }
  result.model.weights.assign(options.rank, 1.0);
  for (int n = 0; n < order; ++n) {
    normalize_columns(space, factors[n], work.gram_of(n), work.weights);
    space.fence("polyad::cp_als");
    auto const norms = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), work.weights);
    for (count_t r = 0; r < options.rank; ++r) result.model.weights[r] *= norms(r);
  }
  arrange_components(space, result.model);
  return result;
}

/// Factors X from the random start that options.seed gives. Otherwise as above.
template <Format F, class Callback>
CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(typename F::space_type const& space,
                                                                    F const& X, CpAlsOptions const& options,
                                                                    Callback&& callback) {
  FactorMatrices<typename F::scalar_type, typename F::space_type> const start(space, X.extents(),
                                                                              options.rank);
  fill_random(space, start, options.seed);
  return cp_als(space, X, options, start, std::forward<Callback>(callback));
}

}  // namespace polyad
