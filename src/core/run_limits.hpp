// SPDX-License-Identifier: BSD-3-Clause
// The limits of an iterative run, as all drivers check them. A comparison with NaN is false, so a tolerance
// of NaN would never stop a run, and a time limit of NaN would not either.
#pragma once

#include <limits>

#include "polyad/core/error.hpp"

namespace polyad::detail {

/// \param iterations  the most iterations; 0 reports the start
/// \throws UsageError for negative iterations, and for a tolerance or a time limit that is negative or not a
///         number
inline void expect_run_limits(int iterations, double tolerance,
                              double time_limit_s = std::numeric_limits<double>::infinity()) {
  POLYAD_EXPECTS(iterations >= 0, "at most ", iterations, " iterations: the number is negative");
  POLYAD_EXPECTS(tolerance >= 0, "the tolerance is ", tolerance, ", not a number from 0 on");
  POLYAD_EXPECTS(time_limit_s >= 0, "the time limit is ", time_limit_s, " s, not a number from 0 on");
}

}  // namespace polyad::detail
