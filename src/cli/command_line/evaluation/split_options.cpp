// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/evaluation/split_options.hpp"

#include <string>

#include "cli/command_line/checks.hpp"

namespace polyad::cli {

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
    refuse(fmt::format("--split-time takes a share from 0 to less than 1, not {}", options.split_time));
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
