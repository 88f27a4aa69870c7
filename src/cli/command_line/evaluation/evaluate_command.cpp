// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/declarations.hpp"

#include <cmath>
#include <cstdint>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/shared_options.hpp"

namespace polyad::cli {

void declare(Command& command, EvaluateOptions& options) {
  command.add_input("MODEL", options.model, "A model of fast-tucker (.npz)")->required();
  add_tensor(command, options.test, options.index_base,
             "Test entries, in any form; those with values above 0 are relevant, see --relevant",
             "Number of the first row; unset: as in the model's training set");
  command.add_input(
      "--seen FILE", options.seen,
      "The training set: what a user has there is not recommended, and it knows the most popular "
      "items");
  command.add_option("-k,--count K", options.evaluation.count, "Evaluate the first K recommendations")
      ->capture_default_str();
  command
      .add_option("--relevant X", options.evaluation.relevant,
                  "Test entries are relevant if their value is at least X, and above 0")
      ->capture_default_str();
  command
      .add_option("--mode MODE", options.items,
                  "The mode of the items that are recommended, its number or name",
                  [&options](OptionList& list) { list_mode(list, "mode", options.items); })
      ->capture_default_str();
  command
      .add_option("--user-mode MODE", options.users, "The mode of the users, its number or name",
                  [&options](OptionList& list) { list_mode(list, "user_mode", options.users); })
      ->capture_default_str();
  command.add_choice(
      "--contexts HOW", options.contexts, {"each", "average"},
      "Rows of other modes: each combination in the test set is a query, or the model averages "
      "over them");
  command.add_flag("--rank-seen", options.evaluation.rank_seen,
                   "Recommend what a user has in --seen, too: people listen to songs again");
  command.add_flag("!--no-baselines", options.evaluation.baselines,
                   "Evaluate the model only, without its biases alone and the most popular items");
  command
      .add_option("--clip LOWEST,HIGHEST", options.clip,
                  "Clip predictions to this range for RMSE and MAE, not to the model's",
                  [&options](OptionList& list) {
                    list.emplace_back("clip_lowest", options.clip.empty() ? -INFINITY : options.clip[0]);
                    list.emplace_back("clip_highest", options.clip.empty() ? INFINITY : options.clip[1]);
                  })
      ->delimiter(',')
      ->expected(2);
  add_output(command, options.output, "Write the metrics of each user as a table, in CSV");
  add_common(command);
  command.footer("Example: polyad evaluate model.npz test.tns --seen train.tns --relevant 4");
}

void check(EvaluateOptions const& options) {
  auto const& evaluation = options.evaluation;
  if (evaluation.count < 1 || evaluation.count > std::uint64_t{1} << 31)
    refuse(fmt::format("-k takes 1 to 2147483648 recommendations, not {}", evaluation.count));
  if (!std::isfinite(evaluation.relevant))
    refuse(fmt::format("--relevant takes a number, not {}", evaluation.relevant));
  if (evaluation.rank_seen && options.seen.empty()) refuse("--rank-seen is about the entries of --seen");
  if (!options.clip.empty() && !(options.clip[0] <= options.clip[1]))
    refuse(fmt::format("--clip takes LOWEST,HIGHEST, not {}", fmt::join(options.clip, ",")));
  expect_distinct_files({options.model, options.test, options.seen}, options.output, options.common.report);
}

}  // namespace polyad::cli
