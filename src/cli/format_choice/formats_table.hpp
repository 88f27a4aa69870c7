// SPDX-License-Identifier: BSD-3-Clause
// The table that estimate and tune print.
#pragma once

#include "cli/report/report.hpp"

namespace polyad::cli {

/// A line for each format, the best first: bytes, needed memory, build time, the time of each mode and of an
/// iteration. The last column adds an iteration's share of the build. Times are measured if possible;
/// predicted times have a tilde.
void print_formats(FormatsReport const& formats);

}  // namespace polyad::cli
