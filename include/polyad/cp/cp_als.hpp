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

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

struct CpAlsOptions {
  count_t rank        = 16;
  int max_iterations  = 50;
  double tolerance    = 1e-4;  // stop when the fit changes by less between two iterations
  double time_limit_s = std::numeric_limits<double>::infinity();
  std::uint64_t seed  = 0;      // of the random start (core/counter_rng.hpp)
  bool time_phases    = false;  // seconds per phase, at the price of a fence around each
  bool one_instance   = false;  // the R x R algebra in line with the MTTKRPs; timed phases do so anyway
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
  Ktensor<Scalar, Space> model;  // normalised, in canonical form
  double fit             = 0;
  bool converged         = false;
  StopReason reason      = StopReason::max_iterations;
  count_t gram_fallbacks = 0;  // updates that took the pseudo-inverse
  std::vector<CpAlsIteration> iterations;
};

/// What the next iteration depends on, in host memory. A run that is restored to it goes on to the same bits
/// as the one that it was taken from, where the format sums in a fixed order.
struct CpAlsState {
  int iteration          = 0;  // done so far
  double fit             = 0;
  count_t gram_fallbacks = 0;
  std::vector<std::vector<double>> factors;  // A^(n), I_n x R, row-major, not normalised
  std::vector<double> grams;                 // N x R x R; made by the updates, not by gram()
};

/// Called after each iteration; false ends the run.
using CpAlsCallback = std::function<bool(CpAlsIteration const&)>;

/// Factors X, which has no duplicates (tensor/sum_duplicates.hpp; their squares would not add up to the
/// norm), starting from `start`, which is used as it is, with lambda = 1, and overwritten by the result.
/// Waits for `space`.
/// \throws UsageError when shapes do not match; MemoryError before allocating; NumericalError when the fit
///         stops being a number
template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space> const& start,
                                  CpAlsCallback const& callback = {});

/// Factors X from the random start that options.seed gives. Otherwise as above.
template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, CpAlsCallback const& callback = {});

/// Factors a tensor in any format of one's own, or of the library's by its class.
template <Format F>
CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(
    typename F::space_type const& space, F const& X, CpAlsOptions const& options,
    FactorMatrices<typename F::scalar_type, typename F::space_type> const& start,
    CpAlsCallback const& callback = {}) {
  return cp_als(space, any_format(space, X), options, start, callback);
}
template <Format F>
CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(typename F::space_type const& space,
                                                                    F const& X, CpAlsOptions const& options,
                                                                    CpAlsCallback const& callback = {}) {
  return cp_als(space, any_format(space, X), options, callback);
}

namespace detail {
template <class Scalar, class Space>
class CpAlsBody;
}

/// One run of CP-ALS, an iteration at a time, so that a host thread can keep several runs going on instances
/// of an execution space (cp/restarts.hpp), or write checkpoints: launch() and finish() in turn while
/// is_running(); then take_result().
template <class Scalar, class Space>
class CpAlsRun {
public:
  /// Allocates everything and forms the start's Gram matrices. `start` is used as it is, with lambda = 1, and
  /// overwritten by the result. Shares X.
  /// \throws UsageError when shapes do not match; MemoryError before allocating; NumericalError when the
  ///         tensor's norm is not a finite number
  template <class Index>
  CpAlsRun(Space const& space, AnyFormat<Scalar, Index, Space> const& X, CpAlsOptions const& options,
           FactorMatrices<Scalar, Space> const& start)
      : CpAlsRun(space, X.inside(), options, start) {}
  CpAlsRun(Space const& space, std::shared_ptr<detail::ErasedFormat<Scalar, Space> const> X,
           CpAlsOptions const& options, FactorMatrices<Scalar, Space> const& start);
  CpAlsRun(CpAlsRun&&) noexcept;
  ~CpAlsRun();

  [[nodiscard]] bool is_running() const;
  /// Enqueues an iteration and the copy of its numbers to the host. Does not wait.
  void launch();
  /// Waits for the iteration, reports it to `callback` and decides whether the run goes on.
  /// \throws NumericalError when the fit is not a finite number
  void finish(CpAlsCallback const& callback);

  /// Between iterations. Waits.
  [[nodiscard]] CpAlsState state() const;
  /// Before the first iteration: goes on where `state` was taken, of a run of the same shape. Iterations
  /// count on. Waits. \throws UsageError when the shapes differ
  void restore(CpAlsState const& state);
  /// Splits lambda off and brings the model into canonical form. Waits; call it once, after the last
  /// iteration.
  [[nodiscard]] CpAlsResult<Scalar, Space> take_result();

private:
  std::unique_ptr<detail::CpAlsBody<Scalar, Space>> m_body;
};

}  // namespace polyad
