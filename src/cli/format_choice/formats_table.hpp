// SPDX-License-Identifier: BSD-3-Clause
// The table that estimate and tune print.
#pragma once

#include "cli/report/report.hpp"

namespace polyad::cli {

/// A line a format, the best first: bytes, need, build, each mode, an iteration, and an iteration with its
/// part of the build. Measured times where there are some, otherwise predicted ones, marked by a tilde.
void print_formats(FormatsReport const& formats);

}  // namespace polyad::cli
