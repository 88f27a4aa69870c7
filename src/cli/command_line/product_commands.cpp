// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/product_commands.hpp"

#include <map>
#include <string>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
#include "cli/command_line/declared_options.hpp"
#include "cli/command_line/folding/fold_in_options.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

constexpr auto matrices = "values and matrices: f32 or f64";

}  // namespace

ProductCommands::ProductCommands(CLI::App& app, SelectedCommands const& meant) : m_app(app) {
  if (meant.contains("tucker")) add_tucker();
  if (meant.contains("ttm")) add_ttm();
  if (meant.contains("ttmc")) add_ttmc();
  if (meant.contains("project")) add_project();
}

void ProductCommands::add_ttm() {
  Command command(m_app, "ttm", "Multiply a tensor by a matrix along one mode", m_ttm.common);
  add_tensor(command, m_ttm.tensor, m_ttm.index_base);
  add_duplicates(command, m_ttm.duplicates, {"sum", "last", "error"});
  add_mode(command, m_ttm.mode_text, "The mode that is multiplied", 1);
  command
      .add_input("--matrix", m_ttm.matrix,
                 "The array 'matrix' of this .npz, with a row for each row of the mode",
                 listed_as("matrices", m_ttm.matrix))  // as ttmc's
      ->required()
      ->type_name("FILE");
  add_precision(command, m_ttm.precision, matrices);
  add_output(command, m_ttm.output, "The product, a tensor file; its ending names the kind")->required();
  add_common(command);
  command.footer("Example: polyad ttm uber.tns.xz --mode 2 --matrix u.npz -o product.tns");
}

void ProductCommands::add_ttmc() {
  Command command(m_app, "ttmc", "Multiply a tensor by the matrices of all modes but one", m_ttmc.common);
  add_tensor(command, m_ttmc.tensor, m_ttmc.index_base);
  add_duplicates(command, m_ttmc.duplicates, {"sum", "last", "error"});
  add_mode(command, m_ttmc.mode_text, "The mode that stays", 1);
  command
      .add_input("--matrices", m_ttmc.matrices,
                 "The arrays 'factor_0', 'factor_1', ... of this .npz: a model, or what tucker writes")
      ->required()
      ->type_name("FILE");
  add_precision(command, m_ttmc.precision, matrices);
  add_output(command, m_ttmc.output,
             "The product, the array 'matrix' of an .npz: a row for each row of the mode, a column for each "
             "combination of the other matrices' columns, the last mode's fastest")
      ->required();
  add_common(command);
  command.footer("Example: polyad ttmc uber.tns.xz --mode 0 --matrices model.npz -o product.npz");
}

void ProductCommands::add_tucker() {
  Command command(m_app, "tucker", "Tucker decomposition by higher-order orthogonal iteration",
                  m_tucker.common);
  add_tensor(command, m_tucker.tensor, m_tucker.index_base);
  add_duplicates(command, m_tucker.duplicates, {"sum", "last", "error"});
  command
      .add_option("-r,--ranks", m_tucker.ranks, "The ranks of the modes, separated by commas",
                  listed_as("ranks", m_tucker.ranks, " x "))
      ->required()
      ->delimiter(',')
      ->type_name("R1,R2,...");
  polyad::TuckerOptions& of_run = m_tucker;
  add_declared(command, of_run);
  add_precision(command, m_tucker.precision, matrices);
  command.add_choice("--init", m_tucker.init, {"random", "hosvd"},
                     "Start: random; or hosvd, the leading left singular vectors of the unfolded tensor");
  add_output(command, m_tucker.output, "The arrays 'core' and 'factor_0', 'factor_1', ... as .npz");
  add_common(command);
  command.footer("Example: polyad tucker uber.tns.xz -r 4,4,10,10 -o model.npz");
}

void ProductCommands::add_project() {
  Command command(m_app, "project", "Rows of one mode of a model for new slices of a tensor",
                  m_project.common);
  command
      .add_input("MODEL", m_project.model,
                 "A model of cpd or fast-tucker: its other modes, bounds and penalties stay")
      ->required()
      ->type_name("");
  m_project.input.duplicates = "sum";
  add_tensor(command, m_project.input.path, m_project.input.index_base);
  add_duplicates(command, m_project.input.duplicates, {"sum", "keep", "last", "error"});
  command.after_parsing([&typed = m_project.duplicates_typed, option = command.option("--duplicates")] {
    typed = option->count() > 0;  // entries of a model of fast-tucker are kept otherwise
  });
  add_drop_zeros(command, m_project.input.drop_zeros);
  add_mode(command, m_project.mode_text, "The mode of the new rows", 0);
  add_fold_in(command, m_project.fold);
  command
      .add_option("--cold-start", m_project.cold_start,
                  "Unknown rows of other modes: refuse them (cpd), or bias: such entries only count for "
                  "biases (fast-tucker, unless typed)",
                  [&cold_start = m_project.cold_start](OptionList& list) {
                    list.emplace_back("cold_start", std::string(!cold_start                      ? ""
                                                                : *cold_start == ColdStart::bias ? "bias"
                                                                                                 : "refuse"));
                  })
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, ColdStart>{{"refuse", ColdStart::refuse}, {"bias", ColdStart::bias}}))
      ->type_name("HOW");
  add_precision(command, m_project.precision, matrices);
  add_output(command, m_project.output, "The model with the new rows: .ktns, .txt or .npz")->required();
  add_common(command);
  command.footer("Example: polyad project april.npz may.tns --mode 0 -o may.npz");
}

std::optional<Options> ProductCommands::chosen() {
  auto const given = [&](char const* name) { return is_given(m_app, name); };
  if (given("ttm")) {
    expect_distinct_files({m_ttm.tensor, m_ttm.matrix}, m_ttm.output, m_ttm.common.report);
    if (!io::dialect_of_ending(m_ttm.output))
      refuse("-o " + m_ttm.output.string() +
             ": the name of a tensor file ends with .tns, .mtx, .pten or .npz");
    return m_ttm;
  }
  if (given("ttmc")) {
    expect_distinct_files({m_ttmc.tensor, m_ttmc.matrices}, m_ttmc.output, m_ttmc.common.report);
    expect_npz("-o", m_ttmc.output);
    return m_ttmc;
  }
  if (given("project")) {
    expect_distinct_files({m_project.model, m_project.input.path}, m_project.output, m_project.common.report);
    static_cast<void>(io::model_kind(m_project.output));
    return m_project;
  }
  if (given("tucker")) {
    expect_distinct_files({m_tucker.tensor}, m_tucker.output, m_tucker.common.report);
    expect_npz("-o", m_tucker.output);
    if (m_tucker.init != "random" && !m_tucker.resume.empty())
      refuse("--resume is a start: leave --init out");
    expect_checkpoints({m_tucker.tensor}, m_tucker.checkpoint, m_tucker.resume, m_tucker.output,
                       m_tucker.common.report);
    return m_tucker;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
