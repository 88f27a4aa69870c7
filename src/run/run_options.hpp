// SPDX-License-Identifier: BSD-3-Clause
// RunOptions: what the run loop takes of the options of a driver.
#pragma once

#include <filesystem>

#include "core/run_limits.hpp"
#include "polyad/core/error.hpp"

namespace polyad::detail {

struct RunOptions {
  int max_iterations;
  double time_limit_s;
  std::filesystem::path checkpoint, resume;  // empty: none
  int checkpoint_every;
};

/// \throws UsageError as expect_run_limits, and for a checkpoint every 0 iterations or of several starts
template <class Options>
[[nodiscard]] RunOptions run_options_of(Options const& options) {
  expect_run_limits(options.max_iterations, options.tolerance, options.time_limit_s);
  POLYAD_EXPECTS(options.checkpoint_every >= 1, "a checkpoint every ", options.checkpoint_every,
                 " iterations: the number is at least 1");
  if constexpr (requires { options.restarts; }) {
    POLYAD_EXPECTS(options.restarts >= 1, options.restarts, " starts");
    POLYAD_EXPECTS(options.restarts == 1 || (options.checkpoint.empty() && options.resume.empty()),
                   "several starts have no checkpoints: run them one by one");
  }
  return {options.max_iterations, options.time_limit_s, options.checkpoint, options.resume,
          options.checkpoint_every};
}

}  // namespace polyad::detail
