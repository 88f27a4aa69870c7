// SPDX-License-Identifier: BSD-3-Clause
// The options of cpd for bounds and penalties.
#pragma once

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

/// --nonnegative, --lower, --upper, --l1, --ridge and --inner
void add_constraints(Command& command, CpdOptions& options);

}  // namespace polyad::cli
