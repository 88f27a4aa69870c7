// SPDX-License-Identifier: BSD-3-Clause
// The options of a driver's table (core/option_row.hpp) as options of a command.
#pragma once

#include <cmath>
#include <string_view>
#include <type_traits>

#include "cli/command_line/command.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/core/option_row.hpp"

namespace polyad::cli {

/// A number, which is not below the row's minimum, and infinite only if that is the default.
template <class Number>
  requires(std::is_arithmetic_v<Number>)
void add_row(Command& command, OptionRow const& row, Number& number) {
  std::string_view const member = row.name;
  bool const is_time_limit = member == "time_limit_s", is_seed = member == "seed";
  bool const may_be_infinite = std::isinf(static_cast<double>(number));
  if (is_time_limit)
    command.after_parsing([&number] {
      if (!(number > 0)) refuse("--time-limit takes seconds, more than 0, not {}", number);
    });
  auto* const option = command.add_option(row.tool, number, row.help,
                                          is_seed         ? Listing(unlisted)
                                          : is_time_limit ? listed_as(row.name, number)
                                                          : Listing());
  if (!may_be_infinite) option->capture_default_str();
  std::string_view const names = row.tool;  // "-i,--iterations N", of which messages have the first
  command.after_parsing([row, name = names.substr(0, names.find_first_of(", ")), &number, may_be_infinite] {
    double const value = static_cast<double>(number);
    if (std::isnan(value) || value < row.least || (std::isinf(value) && !may_be_infinite))
      refuse("{} takes a number of at least {}, not {}", name, row.least, number);
  });
  if (is_seed) command.after_parsing([&number, &common = command.common()] { common.seed = number; });
}

inline void add_row(Command& command, OptionRow const& row, bool& flag) {
  bool const takes_back = *row.tool == '!';
  command.add_flag(row.tool, flag, (takes_back ? "Leave out: " : "") + std::string(row.help));
}

inline void add_row(Command& command, OptionRow const& row, std::filesystem::path& file) {
  if (row.is_input)
    command.add_input(row.tool, file, row.help);
  else
    command.add_output(row.tool, file, row.help);
}

/// Adds the rows that have names for the tool. The value of each is checked after parsing.
template <class Options>
void add_declared(Command& command, Options& options) {
  for_each_option(options, [&](OptionRow const& row, auto& value) {
    if constexpr (requires { add_row(command, row, value); })
      if (*row.tool != '\0') add_row(command, row, value);
  });
  if constexpr (requires { options.checkpoint_every; })
    command.only_for({"--checkpoint-every"}, "runs with --checkpoint",
                     [&options] { return !options.checkpoint.empty(); });
}

}  // namespace polyad::cli
