// SPDX-License-Identifier: BSD-3-Clause
// The options of evaluate, and those of fast-tucker that say how a test set is held out.
#include <cmath>
#include <cstdint>
#include <string>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/shared_options.hpp"

namespace polyad::cli {

void declare(Command& command, EvaluateOptions& options) {
  command.add_input("MODEL", options.model, "A model of fast-tucker (.npz)")->required();
  add_tensor(command, options.test, options.index_base,
             "Test entries, in any form; those with values above 0 are relevant, see --relevant",
             "Number of the first row; unset: as in the model's training set");
  command.add_input(
      "--seen FILE", options.seen,
      "The training set: what a user has there is not recommended, and it knows the most popular items");
  command.add_option("-k,--count K", options.evaluation.count, "Evaluate the first K recommendations")
      ->capture_default_str();
  command
      .add_option("--relevant X", options.evaluation.relevant,
                  "Test entries are relevant if their value is at least X, and above 0")
      ->capture_default_str();
  command
      .add_option("--mode MODE", options.items,
                  "The mode of the items that are recommended, its number or name",
                  listed_mode("mode", options.items))
      ->capture_default_str();
  command
      .add_option("--user-mode MODE", options.users, "The mode of the users, its number or name",
                  listed_mode("user_mode", options.users))
      ->capture_default_str();
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
  expect_range(options.clip);
  expect_distinct_files({options.model, options.test, options.seen}, options.output, options.common.report);
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
  if (!options.split_rows.empty() && !(options.split > 0))
    refuse("--split-rows is about the share of --split");
  bool const has_time = !options.split_mode.empty() || options.time_mode_text != "-1";
  if (options.split_time > 0 && !has_time)
    refuse("--split-time needs to know the mode of time: name it by --split-mode or --time-mode");
  if (!options.split_mode.empty() && !(options.split_time > 0) && options.split_last.empty())
    refuse("--split-mode is for --split-time and --split-last");
}

}  // namespace polyad::cli
