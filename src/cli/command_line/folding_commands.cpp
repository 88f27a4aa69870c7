// SPDX-License-Identifier: BSD-3-Clause
// The options of update, and those of project and recommend that say how a model was fitted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/shared_options.hpp"

namespace polyad::cli {

namespace {

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
    refuse("--implicit takes the weight alpha of a click, above 0, not {}", typed);
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
  auto* const ridge =
      command.add_option("--reg X", options.ridge,
                         "The ridge that the model was fitted with; unset: as the model's file "
                         "says, or the default of --implicit");
  typed.push_back(ridge);
  typed.push_back(command.add_flag("--reg-per-entry", options.ridge_per_entry,
                                   "The model was fitted with --reg-per-entry; unset: as the model's file "
                                   "says, unless --reg or --shrink is given"));
  typed.push_back(
      command
          .add_list(
              "--shrink X[,S[,ONE]]", options.shrink,
              fmt::format("The shrinkage that the model was fitted with, or that was chosen; unset: as the "
                          "model's file says, or {},{},{} if it does not",
                          Shrinkage().observations, Shrinkage().share, Shrinkage().to_one))
          ->expected(1, 3)
          ->excludes(ridge));
  typed.push_back(command
                      .add_list("--targets T,T,...", options.target_names,
                                "The targets that the model was fitted with, or that were chosen; unset: as "
                                "the model's file says, or zero, and out for modes whose rows are all ones")
                      ->check(CLI::IsMember({"zero", "one", "out"})));
  auto* const damping = command.add_option(
      "--bias-reg X", options.bias_damping,
      fmt::format(
          "Damp the bias of a row as X entries would; unset: as the model's file says, or {} if it does "
          "not",
          RowFit().bias_damping));
  typed.push_back(damping);
  command.after_parsing([&options, typed, damping] {
    options.has_typed_damping = damping->count() > 0;
    options.is_typed =
        std::ranges::any_of(typed, [](CLI::Option const* option) { return option->count() > 0; });
    settle(options);
  });
}

void declare(Command& command, UpdateOptions& options) {
  command.add_input("MODEL", options.model, "A model of fast-tucker (.npz)")->required();
  add_tensor(command, options.entries, options.index_base,
             "The new entries, in any form; rows that the model does not have are added to it",
             "Number of the first row; unset: as in the model's training set");
  command.add_input(
      "--train FILE", options.train,
      "The entries that the model was fitted to: rows that it has are solved again from these and "
      "the new ones. Without them, such rows stay");
  add_duplicates(command, options.duplicates, {"keep", "sum", "last"});
  command
      .add_option("--sweeps K", options.sweeps, "Then solve all rows of all modes, K times; needs --train")
      ->capture_default_str();
  add_fold_in(command, options.fold);
  add_precision(command, options.precision, "values and model: f32 or f64");
  add_output(command, options.output, "The model with the new rows (.npz)")->required();
  add_common(command);
  command.footer("Example: polyad update model.npz today.csv --train ratings.csv --shrink 10 -o newer.npz");
}

void check(UpdateOptions const& options) {
  if (options.sweeps < 0) refuse("--sweeps takes a number of at least 0, not {}", options.sweeps);
  if (options.sweeps > 0 && options.train.empty())
    refuse("--sweeps solves all rows, each from all of its entries: name the old ones by --train");
  expect_distinct_files({options.model, options.entries, options.train}, options.output,
                        options.common.report);
  expect_npz("-o", options.output, "a FastTucker model");
}

}  // namespace polyad::cli
