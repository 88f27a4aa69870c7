// SPDX-License-Identifier: BSD-3-Clause
// RunOptions: the options of a driver that the run loop uses.
#pragma once

#include <filesystem>
#include <type_traits>

#include "polyad/core/error.hpp"
#include "polyad/core/option_row.hpp"

namespace polyad::detail {

struct RunOptions {
  int max_iterations;
  double time_limit_s;
  std::filesystem::path checkpoint, resume;  // empty: none
  int checkpoint_every;
};

/// Checks the numbers of a driver's options against its table (core/option_row.hpp).
/// \throws UsageError for a number that is less than the least of its row, and for NaN
template <class Options>
void expect_in_range(Options const& options) {
  for_each_option(options, [](OptionRow const& row, auto const& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>)
      POLYAD_EXPECTS(static_cast<double>(value) >= row.least, row.name, " is ", value,
                     ", but it must be at least ", row.least);
  });
}

/// \throws UsageError as expect_in_range, and for checkpoints of several starts
template <class Options>
[[nodiscard]] RunOptions run_options_of(Options const& options) {
  expect_in_range(options);
  if constexpr (requires { options.restarts; })
    POLYAD_EXPECTS(options.restarts == 1 || (options.checkpoint.empty() && options.resume.empty()),
                   "several starts have no checkpoints: run them one by one");
  return {options.max_iterations, options.time_limit_s, options.checkpoint, options.resume,
          options.checkpoint_every};
}

}  // namespace polyad::detail
