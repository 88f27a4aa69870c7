// SPDX-License-Identifier: BSD-3-Clause
// The options of `polyad evaluate`.
#pragma once

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

/// Adds the options; both must live while the command line is parsed.
void add_evaluate(Command command, EvaluateOptions& options);

/// \throws UsageError
void check(EvaluateOptions const& options);

}  // namespace polyad::cli
