// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/folding/fold_in_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command_line/checks.hpp"

namespace polyad::cli {

namespace {

void expect_not_negative(char const* option, double number) {
  if (!(number >= 0) || std::isinf(number))
    refuse(fmt::format("{} takes a number of at least 0, not {}", option, number));
}

void settle(TypedFoldIn& options) {
  if (!options.implicit_text.empty()) options.implicit = typed_alpha(options.implicit_text);
  if (!options.shrink.empty()) options.shrinkage = typed_shrinkage(options.shrink);
  options.targets = typed_targets(options.target_names);
  expect_not_negative("--reg", options.ridge.value_or(0));
  expect_not_negative("--bias-reg", options.bias_damping);
  for (double const number : options.shrink) expect_not_negative("--shrink", number);
  if (options.shrinkage && options.implicit)
    refuse("--implicit takes --reg: --shrink counts a row's entries, and here all cells of a row count");
  if (options.shrinkage && options.ridge_per_entry) refuse("--shrink is for models without --reg-per-entry");
}

}  // namespace

double typed_alpha(std::string const& typed) {
  std::string text        = typed;
  std::string const fault = settle_number(text);
  if (!fault.empty()) refuse("--implicit: " + fault);
  double const alpha = std::stod(text);
  if (!(alpha > 0) || std::isinf(alpha))
    refuse(fmt::format("--implicit takes the weight alpha of a click, above 0, not {}", typed));
  return alpha;
}

Shrinkage typed_shrinkage(std::vector<double> const& numbers) {
  Shrinkage shrinkage;
  if (!numbers.empty()) shrinkage.observations = numbers[0];
  if (numbers.size() > 1) shrinkage.share = numbers[1];
  if (numbers.size() > 2) shrinkage.to_one = numbers[2];
  return shrinkage;
}

std::vector<RowTarget> typed_targets(std::vector<std::string> const& words) {
  std::vector<RowTarget> targets;
  for (auto const& word : words)
    targets.push_back(word == "zero"  ? RowTarget::zero
                      : word == "one" ? RowTarget::one
                                      : RowTarget::left_out);
  return targets;
}

void add_fold_in(Command& command, TypedFoldIn& options) {
  std::vector<CLI::Option*> typed;
  typed.push_back(command.add_flag_with_text(
      "--implicit", options.implicit_text, fmt::format("{}", usual_alpha),
      "The model was fitted to clicks or counts with --implicit=ALPHA, and these entries are some, too; "
      "unset: as the model's file says"));
  auto* const ridge = command
                          .add_option("--reg", options.ridge,
                                      "The ridge that the model was fitted with; unset: as the model's file "
                                      "says, or the default of --implicit")
                          ->type_name("X");
  typed.push_back(ridge);
  typed.push_back(command.add_flag("--reg-per-entry", options.ridge_per_entry,
                                   "The model was fitted with --reg-per-entry; unset: as the model's file "
                                   "says, unless --reg or --shrink is given"));
  typed.push_back(
      command
          .add_option(
              "--shrink", options.shrink,
              fmt::format("The shrinkage that the model was fitted with, or that was chosen; unset: as the "
                          "model's file says, or {},{},{} if it does not",
                          Shrinkage().observations, Shrinkage().share, Shrinkage().to_one),
              listed_as("shrink", options.shrink, ","))
          ->delimiter(',')
          ->expected(1, 3)
          ->excludes(ridge)
          ->type_name("X[,S[,ONE]]"));
  typed.push_back(command
                      .add_option("--targets", options.target_names,
                                  "The targets that the model was fitted with, or that were chosen; unset: "
                                  "as the model's file says, or zero, and out for modes whose rows are all "
                                  "ones",
                                  listed_as("targets", options.target_names, ","))
                      ->delimiter(',')
                      ->check(CLI::IsMember({"zero", "one", "out"}))
                      ->type_name("T,T,..."));
  auto* const damping =
      command
          .add_option("--bias-reg", options.bias_damping,
                      fmt::format("Damp the bias of a row as X entries would; unset: as the model's file "
                                  "says, or {} if it does not",
                                  RowFit().bias_damping))
          ->type_name("X");
  typed.push_back(damping);
  command.after_parsing([&options, typed, damping] {
    options.has_typed_damping = damping->count() > 0;
    options.is_typed =
        std::ranges::any_of(typed, [](CLI::Option const* option) { return option->count() > 0; });
    settle(options);
  });
}

}  // namespace polyad::cli
