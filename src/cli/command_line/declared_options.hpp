// SPDX-License-Identifier: BSD-3-Clause
// The options of a driver's table (core/option_row.hpp) as options of a command.
#pragma once

#include <cstdint>
#include <filesystem>

#include "cli/command_line/command.hpp"
#include "polyad/core/option_row.hpp"

namespace polyad::cli {

void add_row(Command& command, OptionRow const& row, int& number);
void add_row(Command& command, OptionRow const& row, std::uint64_t& number);
void add_row(Command& command, OptionRow const& row, double& number);
void add_row(Command& command, OptionRow const& row, bool& flag);
void add_row(Command& command, OptionRow const& row, std::filesystem::path& file);

/// Adds the rows that have names for the tool. The value of each is checked after parsing.
template <class Options>
void add_declared(Command& command, Options& options) {
  for_each_option(options, [&](OptionRow const& row, auto& value) {
    if constexpr (requires { add_row(command, row, value); })
      if (*row.tool != '\0') add_row(command, row, value);
  });
}

}  // namespace polyad::cli
