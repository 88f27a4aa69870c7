// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/constraint_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <limits>
#include <string>
#include <vector>

namespace polyad::cli {

namespace {

/// A repeatable option whose values are [MODE:]X.
void add_mode_numbers(Command& command, std::string const& name, std::vector<std::string>& texts,
                      std::string const& meaning) {
  command
      .add_option(name, texts, meaning,
                  [name = name.substr(2), &texts](OptionList& list) {
                    list.emplace_back(name, fmt::format("{}", fmt::join(texts, ",")));
                  })
      ->allow_extra_args(false)
      ->type_name("[MODE:]X");
}

}  // namespace

void add_constraints(Command& command, CpdOptions& options) {
  auto& typed = options.constraints;
  command.add_flag_with_text("--nonnegative", typed.nonnegative_text, "all",
                             "Factors without negative entries, or only those of modes: --nonnegative=0,2");
  add_mode_numbers(command, "--lower", typed.lower_texts,
                   "The least entry of the factors, or of mode MODE's");
  add_mode_numbers(command, "--upper", typed.upper_texts, "The largest entry; repeatable as --lower");
  add_mode_numbers(command, "--l1", typed.l1_texts,
                   "Penalty: X times the sum of all |entries|, which makes many of them 0");
  add_mode_numbers(command, "--ridge", typed.ridge_texts,
                   "Penalty: X/2 ||A||^2. If a mode has a penalty, each needs one or two bounds");
  command.after_parsing([&typed] { read_texts(typed); });
  command
      .add_option("--inner", options.inner_sweeps, "With bounds or --l1: sweeps over each row in an update")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("K")
      ->capture_default_str();
}

}  // namespace polyad::cli
