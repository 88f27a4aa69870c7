// SPDX-License-Identifier: BSD-3-Clause
// The command update: its options, and what they exclude.
#pragma once

#include "cli/command_line/command.hpp"
#include "cli/options/fold_in_options.hpp"

namespace polyad::cli {

void add_update(Command command, UpdateOptions& options);

/// \throws UsageError
void check(UpdateOptions const& options);

}  // namespace polyad::cli
