// SPDX-License-Identifier: BSD-3-Clause
// Options that say how a completion model was fitted. project, recommend and update compute rows by them.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line/command.hpp"
#include "cli/options/fold_in_options.hpp"

namespace polyad::cli {

/// alpha of --implicit=ALPHA. \throws UsageError
[[nodiscard]] double typed_alpha(std::string const& typed);

/// The members that --shrink gives, and the defaults of the others.
[[nodiscard]] Shrinkage typed_shrinkage(std::vector<double> const& numbers);

/// The words of --targets.
[[nodiscard]] std::vector<RowTarget> typed_targets(std::vector<std::string> const& words);

/// --implicit, --reg, --reg-per-entry, --shrink, --targets and --bias-reg
void add_fold_in(Command& command, TypedFoldIn& options);

}  // namespace polyad::cli
