// SPDX-License-Identifier: BSD-3-Clause
// The limits of an iterative run, and its end: all drivers check them here. A comparison with NaN is false,
// so a tolerance of NaN would never stop a run, and a time limit of NaN would not either.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/core/stop_reason.hpp"

namespace polyad::detail {

/// \param iterations  the largest number of iterations; with 0, a run only reports the fit of its start
/// \throws UsageError for negative iterations, and for a tolerance or a time limit that is negative or not a
///         number
inline void expect_run_limits(int iterations, double tolerance,
                              double time_limit_s = std::numeric_limits<double>::infinity()) {
  POLYAD_EXPECTS(iterations >= 0, "at most ", iterations, " iterations: the number is negative");
  POLYAD_EXPECTS(tolerance >= 0, "the tolerance is ", tolerance, ", but it must be 0 or more");
  POLYAD_EXPECTS(time_limit_s >= 0, "the time limit is ", time_limit_s, " s, but it must be 0 or more");
}

/// Decides after each iteration whether a run ends. Its clock begins when it is made.
class RunLimits {
public:
  /// \param anywhere  returns whether its argument is true on at least one rank; all ranks call it together.
  ///                  Empty if there is only one rank
  RunLimits(int most_iterations, double time_limit_s, std::function<bool(bool)> anywhere = {})
      : m_most(most_iterations), m_time_limit_s(time_limit_s), m_anywhere(std::move(anywhere)) {}

  /// \param iteration  the number of the iteration that has ended
  /// \param is_interrupted  whether the callback of this rank returned false
  /// \param found  why the driver itself would end it, the same on all ranks
  [[nodiscard]] std::optional<StopReason> after(int iteration, bool is_interrupted,
                                                std::optional<StopReason> found) const {
    if (anywhere(is_interrupted)) return StopReason::interrupted;
    if (found) return found;
    if (std::isfinite(m_time_limit_s) && anywhere(m_clock.seconds() >= m_time_limit_s))
      return StopReason::time_limit;
    if (iteration >= m_most) return StopReason::max_iterations;
    return std::nullopt;
  }

private:
  [[nodiscard]] bool anywhere(bool here) const { return m_anywhere ? m_anywhere(here) : here; }

  int m_most;
  double m_time_limit_s;
  std::function<bool(bool)> m_anywhere;
  Kokkos::Timer m_clock;
};

}  // namespace polyad::detail
