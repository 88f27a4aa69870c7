// SPDX-License-Identifier: BSD-3-Clause
// From argv to Options.
#pragma once

#include <optional>

#include "cli/options/options.hpp"

namespace polyad::cli {

/// Returns nothing if help or the version was requested and has been printed.
/// \throws UsageError in one line
[[nodiscard]] std::optional<Options> parse_command_line(int argc, char const* const* argv);

}  // namespace polyad::cli
