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
  command.add_flag_with_text(
      "--nonnegative", typed.nonnegative_text, "all",
      "Keep all factors at 0 or above, or only those of some modes, from 0 on: --nonnegative=0,2");
  add_mode_numbers(
      command, "--lower", typed.lower_texts,
      "Keep the entries of each factor, or of mode MODE's, at X or above; repeatable. Bounds and "
      "penalties are on factors that contain the weights");
  add_mode_numbers(command, "--upper", typed.upper_texts, "The same: at X or below");
  add_mode_numbers(
      command, "--l1", typed.l1_texts,
      "Add X times the sum of all |entries| of each factor, or of mode MODE's, to half of the "
      "squared error; repeatable. Entries become exactly 0. All modes need a penalty, or bounds on "
      "both sides, or no mode has one");
  add_mode_numbers(command, "--ridge", typed.ridge_texts,
                   "Add X/2 ||A||^2 of each factor, or of mode MODE's; otherwise as --l1");
  command.after_parsing([&typed] { read_texts(typed); });
  command
      .add_option("--inner", options.inner_sweeps,
                  "With bounds or --l1: sweeps of coordinate descent over each row in every update")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("K")
      ->capture_default_str();
  command
      .add_option("--kkt-tol", options.kkt_tolerance,
                  "With bounds or --l1: stop, too, once no update of an entry changes the model by X of the "
                  "tensor's norm or more; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X")
      ->capture_default_str();
}

}  // namespace polyad::cli
