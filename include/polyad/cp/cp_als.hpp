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

#include <utility>

#include "polyad/cp/cp_als_run.hpp"

namespace polyad {

/// Factors X, which has no duplicates (tensor/sum_duplicates.hpp; their squares would not add up to the
/// norm), starting from `start` (used as it is, with lambda = 1; overwritten by the result).
/// `callback(CpAlsIteration const&) -> bool` is called after each iteration; false ends the run.
/// Waits for `space`.
/// \throws UsageError when shapes do not match; MemoryError before allocating; NumericalError when the fit
///         stops being a number
template <Format F, class Callback>
CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(
    typename F::space_type const& space, F const& X, CpAlsOptions const& options,
    FactorMatrices<typename F::scalar_type, typename F::space_type> const& start, Callback&& callback) {
  CpAlsRun<F> run(space, X, options, start);
  while (run.is_running()) {
    run.launch();
    run.finish(callback);
  }
  return run.take_result();
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
