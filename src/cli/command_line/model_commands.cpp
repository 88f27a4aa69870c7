// SPDX-License-Identifier: BSD-3-Clause
// The options of evaluate and update, those of project and recommend that say how a model was fitted, and
// those of fast-tucker that say how a test set is held out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

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

/// MODEL and TENSOR, entries whose rows are numbered as those of the model.
void add_model_and_entries(Command& command, std::filesystem::path& model, std::filesystem::path& entries,
                           int& index_base, std::string const& meaning) {
  add_completion_model(command, model);
  add_tensor(command, entries, index_base, meaning,
             "Number of the first row; unset: as in the model's training set");
}

}  // namespace

void declare(Command& command, EvaluateOptions& options) {
  add_model_and_entries(command, options.model, options.test, options.index_base,
                        "Test entries, in any form; those with values above 0 are relevant, see --relevant");
  command.add_input(
      "--seen FILE", options.seen,
      "The training set: what a user has there is not recommended, and it knows the most popular items");
  command.add_shown("-k,--count K", options.evaluation.count, "Evaluate the first K recommendations");
  command.add_shown("--relevant X", options.evaluation.relevant,
                    "Test entries are relevant if their value is at least X, and above 0");
  command.add_shown("--mode MODE", options.items,
                    "The mode of the items that are recommended, its number or name",
                    listed_mode("mode", options.items));
  command.add_shown("--user-mode MODE", options.users, "The mode of the users, its number or name",
                    listed_mode("user_mode", options.users));
  command.add_choice(
      "--contexts HOW", options.contexts, {"each", "average"},
      "Rows of other modes: each combination in the test set is a query, or the model averages over them");
  command.add_flag("--rank-seen", options.evaluation.rank_seen,
                   "Recommend what a user has in --seen, too: people listen to songs again");
  command.add_flag("!--no-baselines", options.evaluation.baselines,
                   "Evaluate the model only, without its biases alone and the most popular items");
  add_clip(command, options.clip, "Clip predictions to this range for RMSE and MAE, not to the model's");
  add_output(command, options.output, "Write the metrics of each user as a table, in CSV");
  add_common(command);
  command.footer("Example: polyad evaluate model.npz test.tns --seen train.tns --relevant 4");
}

void check(EvaluateOptions const& options) {
  auto const& evaluation = options.evaluation;
  if (evaluation.count < 1 || evaluation.count > std::uint64_t{1} << 31)
    refuse("-k takes 1 to 2147483648 recommendations, not {}", evaluation.count);
  if (!std::isfinite(evaluation.relevant)) refuse("--relevant takes a number, not {}", evaluation.relevant);
  if (evaluation.rank_seen && options.seen.empty()) refuse("--rank-seen is about the entries of --seen");
}

void add_splits(Command& command, TrainOptions& options) {
  command.add_option("--split-time SHARE", options.split_time,
                     "Hold out this share of the entries, the latest; those of one time stay together");
  command.add_option("--split-last MODE", options.split_last,
                     "Hold out the last entry of each row of this mode");
  command.add_option(
      "--split-rows MODE", options.split_rows,
      "--split is a share of the rows of this mode, with all their entries, such as new users");
  command.add_option(
      "--split-mode MODE", options.split_mode,
      "The mode of time of --split-time and --split-last; unset: that of --time-mode or, for --split-last, "
      "the order of the file");
  command.add_choice(
      "--split-repeats HOW", options.split_repeats, {"together", "apart"},
      "Entries at the same place: --split and --validate keep them together, or draw each one");
  command.add_choice("--split-ties HOW", options.split_ties, {"one", "all"},
                     "Entries of the last time of a row: --split-last draws one, or holds all of them out");
  command.only_for({"--split-rows"}, "--split", [&options] { return options.split > 0; });
  command.only_for({"--split-mode"}, "--split-time and --split-last",
                   [&options] { return options.split_time > 0 || !options.split_last.empty(); });
  command.only_for({"--split-repeats"},
                   "--split and --validate, unless whole rows or the last entries are held out",
                   [&options] { return options.draws_entries(); });
  command.only_for({"--split-ties"}, "--split-last", [&options] { return !options.split_last.empty(); });
}

void check_splits(TrainOptions const& options) {
  if (!(options.split_time >= 0 && options.split_time < 1))
    refuse("--split-time takes a share from 0 to less than 1, not {}", options.split_time);
  int const rules =
      (options.split > 0 ? 1 : 0) + (options.split_time > 0 ? 1 : 0) + (options.split_last.empty() ? 0 : 1);
  if (rules > 1) refuse("--split, --split-time and --split-last exclude each other");
  if (rules > 0 && !options.test.empty())
    refuse(std::string(options.split > 0        ? "--split"
                       : options.split_time > 0 ? "--split-time"
                                                : "--split-last") +
           " and --test exclude each other");
  bool const has_time = !options.split_mode.empty() || options.time_mode_text != "-1";
  if (options.split_time > 0 && !has_time)
    refuse("--split-time needs to know the mode of time: name it by --split-mode or --time-mode");
}

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
  command.add_flag_with_text(
      "--implicit", options.implicit_text, fmt::format("{}", usual_alpha),
      "The model was fitted to clicks or counts with --implicit=ALPHA, and these entries are some, too; "
      "unset: as the model's file says");
  auto* const ridge =
      command.add_option("--reg X", options.ridge,
                         "The ridge that the model was fitted with; unset: as the model's file "
                         "says, or the default of --implicit");
  command.add_flag("--reg-per-entry", options.ridge_per_entry,
                   "The model was fitted with --reg-per-entry; unset: as the model's file says, unless --reg "
                   "or --shrink is given");
  command
      .add_list("--shrink X[,S[,ONE]]", options.shrink,
                fmt::format("The shrinkage that the model was fitted with, or that was chosen; unset: as the "
                            "model's file says, or {},{},{} if it does not",
                            Shrinkage().observations, Shrinkage().share, Shrinkage().to_one))
      ->expected(1, 3)
      ->excludes(ridge);
  command
      .add_list("--targets T,T,...", options.target_names,
                "The targets that the model was fitted with, or that were chosen; unset: as the model's file "
                "says, or zero, and out for modes whose rows are all ones")
      ->check(CLI::IsMember({"zero", "one", "out"}));
  auto* const damping = command.add_option(
      "--bias-reg X", options.bias_damping,
      fmt::format("Damp the bias of a row as X entries would; unset: as the model's file says, or {} if it "
                  "does not",
                  RowFit().bias_damping));
  std::vector<CLI::Option*> typed{ridge, damping};
  for (char const* const name : {"--implicit", "--reg-per-entry", "--shrink", "--targets"})
    typed.push_back(command.option(name));
  command.after_parsing([&options, typed, damping] {
    options.has_typed_damping = damping->count() > 0;
    options.is_typed =
        std::ranges::any_of(typed, [](CLI::Option const* option) { return option->count() > 0; });
    settle(options);
  });
}

void declare(Command& command, UpdateOptions& options) {
  add_model_and_entries(command, options.model, options.entries, options.index_base,
                        "The new entries, in any form; rows that the model does not have are added to it");
  command.add_input(
      "--train FILE", options.train,
      "The entries that the model was fitted to: rows that it has are solved again from these and "
      "the new ones. Without them, such rows stay");
  add_duplicates(command, options.duplicates, {"keep", "sum", "last"});
  command.add_shown("--sweeps K", options.sweeps, "Then solve all rows of all modes, K times; needs --train");
  add_fold_in(command, options.fold);
  add_precision(command, options.precision, "values and model: f32 or f64");
  add_output(command, options.output, "The model with the new rows (.npz)")->required();
  command.make_npz("a FastTucker model");
  add_common(command);
  command.footer("Example: polyad update model.npz today.csv --train ratings.csv --shrink 10 -o newer.npz");
}

void check(UpdateOptions const& options) {
  if (options.sweeps < 0) refuse("--sweeps takes a number of at least 0, not {}", options.sweeps);
  if (options.sweeps > 0 && options.train.empty())
    refuse("--sweeps solves all rows, each from all of its entries: name the old ones by --train");
}

}  // namespace polyad::cli
