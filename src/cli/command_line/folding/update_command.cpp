// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/declarations.hpp"

#include "cli/command_line/checks.hpp"
#include "cli/command_line/folding/fold_in_options.hpp"
#include "cli/command_line/shared_options.hpp"

namespace polyad::cli {

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
  if (options.sweeps < 0)
    refuse(fmt::format("--sweeps takes a number of at least 0, not {}", options.sweeps));
  if (options.sweeps > 0 && options.train.empty())
    refuse("--sweeps solves all rows, each from all of its entries: name the old ones by --train");
  expect_distinct_files({options.model, options.entries, options.train}, options.output,
                        options.common.report);
  expect_npz("-o", options.output, "a FastTucker model");
}

}  // namespace polyad::cli
