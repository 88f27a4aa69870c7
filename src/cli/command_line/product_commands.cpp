// SPDX-License-Identifier: BSD-3-Clause

#include "cli/command_line/command.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/declared_options.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

constexpr auto matrices = "values and matrices: f32 or f64";

}  // namespace

void declare(Command& command, TtmOptions& options) {
  add_summed_tensor(command, options);
  add_mode(command, options.mode_text, "The mode that is multiplied", 1);
  command
      .add_input("--matrix FILE", options.matrix,
                 "The array 'matrix' of this .npz, with a row for each row of the mode",
                 listed_as("matrices", options.matrix))  // as ttmc's
      ->required();
  add_precision(command, options.precision, matrices);
  add_output(command, options.output, "The product, a tensor file; its ending names the kind")->required();
  add_common(command);
  command.footer("Example: polyad ttm uber.tns.xz --mode 2 --matrix u.npz -o product.tns");
}

void declare(Command& command, TtmcOptions& options) {
  add_summed_tensor(command, options);
  add_mode(command, options.mode_text, "The mode that stays", 1);
  command
      .add_input("--matrices FILE", options.matrices,
                 "The arrays 'factor_0', 'factor_1', ... of this .npz: a model, or what tucker writes")
      ->required();
  add_precision(command, options.precision, matrices);
  add_output(command, options.output,
             "The product, the array 'matrix' of an .npz: a row for each row of the mode, a column for each "
             "combination of the other matrices' columns, the last mode's fastest")
      ->required();
  command.make_npz();
  add_common(command);
  command.footer("Example: polyad ttmc uber.tns.xz --mode 0 --matrices model.npz -o product.npz");
}

void declare(Command& command, TuckerOptions& options) {
  add_summed_tensor(command, options);
  command
      .add_list("-r,--ranks R1,R2,...", options.ranks, "The ranks of the modes, separated by commas", " x ")
      ->required();
  polyad::TuckerOptions& of_run = options;
  add_declared(command, of_run);
  add_precision(command, options.precision, matrices);
  command.add_choice("--init", options.init, {"random", "hosvd"},
                     "Start: random; or hosvd, the leading left singular vectors of the unfolded tensor");
  add_output(command, options.output, "The arrays 'core' and 'factor_0', 'factor_1', ... as .npz");
  command.make_npz();
  add_common(command);
  command.footer("Example: polyad tucker uber.tns.xz -r 4,4,10,10 -o model.npz");
}

void declare(Command& command, ProjectOptions& options) {
  command
      .add_input("MODEL", options.model,
                 "A model of cpd or fast-tucker: its other modes, bounds and penalties stay")
      ->required();
  options.input.duplicates = "sum";
  add_tensor(command, options.input.path, options.input.index_base);
  add_duplicates(command, options.input.duplicates, {"sum", "keep", "last", "error"});
  command.after_parsing([&typed = options.duplicates_typed, option = command.option("--duplicates")] {
    typed = option->count() > 0;  // entries of a model of fast-tucker are kept otherwise
  });
  add_drop_zeros(command, options.input.drop_zeros);
  add_mode(command, options.mode_text, "The mode of the new rows", 0);
  add_fold_in(command, options.fold);
  add_cold_start(command, options.cold_start, {{"refuse", ColdStart::refuse}, {"bias", ColdStart::bias}},
                 "Unknown rows of other modes: refuse them (cpd), or bias: such entries only count for "
                 "biases (fast-tucker, unless typed)");
  add_precision(command, options.precision, matrices);
  add_output(command, options.output, "The model with the new rows: .ktns, .txt or .npz")->required();
  add_common(command);
  command.footer("Example: polyad project april.npz may.tns --mode 0 -o may.npz");
}

void check(TtmOptions const& options) {
  if (!io::dialect_of_ending(options.output))
    refuse("-o " + options.output.string() +
           ": the name of a tensor file ends with .tns, .mtx, .pten or .npz");
}

void check(TuckerOptions const& options) {
  if (options.init != "random" && !options.resume.empty()) refuse("--resume is a start: leave --init out");
}

void check(ProjectOptions const& options) {
  static_cast<void>(io::model_kind(options.output));
}

}  // namespace polyad::cli
