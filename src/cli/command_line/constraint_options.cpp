// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <cstdint>
#include <string>

#include "cli/command_line/declarations.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/typed_text/numbers.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {

/// A repeatable option whose values are [MODE:]X.
void add_mode_numbers(Command& command, TypedNumbers& typed, std::string const& meaning) {
  std::string const name = typed.option;
  command.add_option(name + " [MODE:]X", typed.texts, meaning, listed_as(name.substr(2), typed.texts, ","))
      ->allow_extra_args(false);
}

/// \throws UsageError unless the text is "exact" or a number of at least 1
int inner_sweeps_of(std::string text) {
  if (text == "exact") return exact_inner;
  std::string const typed = text;
  int sweeps              = 0;
  if (settle_whole_number<int>(text).empty()) std::from_chars(text.data(), text.data() + text.size(), sweeps);
  if (sweeps < 1 || sweeps == exact_inner)
    refuse("--inner is a number of sweeps, at least 1, or exact, not '{}'", printable(typed));
  return sweeps;
}

}  // namespace

void add_constraints(Command& command, CpdOptions& options) {
  auto& typed = options.constraints;
  command.add_flag_with_text("--nonnegative", typed.nonnegative_text, "all",
                             "Factors without negative entries, or only those of modes: --nonnegative=0,2 or "
                             "--nonnegative=user");
  add_mode_numbers(command, typed.lower,
                   "The least entry of the factors, or of those of MODE, a number or a name");
  add_mode_numbers(command, typed.upper, "The largest entry; repeatable as --lower");
  add_mode_numbers(command, typed.l1,
                   "Penalty: X times the sum of all |entries|, which makes many of them 0");
  add_mode_numbers(command, typed.ridge,
                   "Penalty: X/2 ||A||^2. If a mode has a penalty, each needs one or two bounds");
  command.after_parsing([&typed] { read_texts(typed); });
  command.after_parsing([&options] { options.inner_sweeps = inner_sweeps_of(options.inner_text); });
  command
      .add_option("--inner K|exact", options.inner_text,
                  "With bounds or --l1: sweeps over each row in an update, or exact: its minimum",
                  [&options](OptionList& list) {
                    if (options.inner_sweeps == exact_inner)
                      list.emplace_back("inner", options.inner_text);
                    else
                      list.emplace_back("inner", std::int64_t{options.inner_sweeps});
                  })
      ->capture_default_str();
  command
      .add_option("--fix MODES", typed.fixed_texts,
                  "With --init MODEL: modes whose factors stay as they are there",
                  listed_as("fix", typed.fixed_texts, ","))
      ->allow_extra_args(false);
}

}  // namespace polyad::cli
