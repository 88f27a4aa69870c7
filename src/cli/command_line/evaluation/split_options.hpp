// SPDX-License-Identifier: BSD-3-Clause
// The options of fast-tucker that say how a test set is held out.
#pragma once

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

void add_splits(Command& command, TrainOptions& options);

/// \throws UsageError
void check_splits(TrainOptions const& options);

}  // namespace polyad::cli
