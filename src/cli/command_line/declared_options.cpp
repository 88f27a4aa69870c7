// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/declared_options.hpp"

#include <cmath>
#include <string>
#include <string_view>

#include "cli/streams/refuse.hpp"

namespace polyad::cli {

namespace {

/// "-i" of "-i,--iterations N", for messages.
std::string first_name(OptionRow const& row) {
  std::string const names = row.tool;
  return names.substr(0, names.find_first_of(", "));
}

/// Refuses a value below the minimum, and infinity unless it is the default.
template <class Number>
void check_number(Command& command, OptionRow const& row, Number& number) {
  bool const may_be_infinite = std::isinf(static_cast<double>(number));
  command.after_parsing([row, name = first_name(row), &number, may_be_infinite] {
    double const value = static_cast<double>(number);
    if (std::isnan(value) || value < row.least || (std::isinf(value) && !may_be_infinite))
      refuse("{} takes a number of at least {}, not {}", name, row.least, number);
  });
}

template <class Number>
void add_number(Command& command, OptionRow const& row, Number& number) {
  std::string_view const member = row.name;
  auto* const option            = command.add_option(row.tool, number, row.help,
                                                     member == "seed"           ? Listing(unlisted)
                                                     : member == "time_limit_s" ? listed_as(row.name, number)
                                                                                : Listing());
  if (!std::isinf(static_cast<double>(number))) option->capture_default_str();
  check_number(command, row, number);
}

}  // namespace

void add_row(Command& command, OptionRow const& row, int& number) {
  add_number(command, row, number);
}

void add_row(Command& command, OptionRow const& row, std::uint64_t& number) {
  add_number(command, row, number);
  if (std::string_view(row.name) == "seed")
    command.after_parsing([&number, &common = command.common()] { common.seed = number; });
}

void add_row(Command& command, OptionRow const& row, double& number) {
  if (std::string_view(row.name) == "time_limit_s")
    command.after_parsing([&number] {
      if (!(number > 0)) refuse("--time-limit takes seconds, more than 0, not {}", number);
    });
  add_number(command, row, number);
}

void add_row(Command& command, OptionRow const& row, bool& flag) {
  bool const takes_back = *row.tool == '!';
  command.add_flag(row.tool, flag, (takes_back ? "Leave out: " : "") + std::string(row.help));
}

void add_row(Command& command, OptionRow const& row, std::filesystem::path& file) {
  if (row.is_input)
    command.add_input(row.tool, file, row.help);
  else
    command.add_output(row.tool, file, row.help);
}

}  // namespace polyad::cli
