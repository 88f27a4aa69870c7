// SPDX-License-Identifier: BSD-3-Clause
// polyad mttkrp: the matricised tensor times the Khatri-Rao product of a model's factors.
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/tensors/write_output.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

int run(MttkrpOptions const& given, Report& report) {
  MttkrpOptions options    = given;
  auto const model         = io::read_model(options.factors);
  auto input               = options.input;
  input.index_base_of_text = model.names.index_base;
  auto file                = read_input_file(input, options.common, report);
  auto const names         = match_stored(file, model.names, model.extents, -1, options.input.path.string(),
                                          options.factors.string());
  auto tensor              = std::move(file.tensor);
  report.input->dims       = tensor.extents;
  expect_extents(options.factors, model.extents, tensor.extents);
  options.mode             = mode_of_text(options.mode_text, names.labels, tensor.order(), "--mode");
  std::uint64_t const rows = tensor.extents[options.mode];
  Session const session(options.common, report);
  io::HostArray const product{{rows, model.rank()},
                              mttkrp_product(std::move(tensor), model, options.mode, report)};
  write_product(options.output, "mttkrp", product, false, names, options.mode);
  report.result = FactsReport{{{"rows", rows}, {"columns", model.rank()}}, {options.output.string()}};
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("wrote    {}: 'mttkrp' of {} x {}\n", FileName(options.output), rows, model.rank());
  return 0;
}

}  // namespace polyad::cli
