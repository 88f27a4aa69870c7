// SPDX-License-Identifier: BSD-3-Clause
// polyad gen: random tensors.

#include "cli/commands/commands.hpp"
#include "cli/tensors/write_output.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

int run(GenOptions const& options, Report& report) {
  Session const session(options.common, report);
  auto const made = generate(options);
  FactsReport facts;
  facts.facts   = {{"nnz", made.tensor.nnz()}};
  report.result = std::move(facts);
  // The model comes first, since the tensor may go to a pipe that breaks.
  if (!options.model.empty()) io::write_model(options.model, made.model);
  auto wrote =
      write_output(options.output, made.tensor, options.to, {.threads = options.common.threads}, report);
  if (!options.model.empty()) {
    std::get<FactsReport>(report.result).files.push_back(options.model.string());
    wrote += fmt::format("wrote    {}\n", FileName(options.model));
  }
  show("tensor   {}, {} nonzeros ({}, seed {})\n{}", dims_text(options.dims), made.tensor.nnz(), options.kind,
       options.seed, wrote);
  return 0;
}

}  // namespace polyad::cli
