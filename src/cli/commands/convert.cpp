// SPDX-License-Identifier: BSD-3-Clause
// polyad convert: a tensor in another dialect.

#include "cli/commands/commands.hpp"
#include "cli/tensors/write_output.hpp"

namespace polyad::cli {

int run(ConvertOptions const& options, Report& report) {
  auto const tensor = read_input_file(options.input, options.common, report).tensor;
  int const base    = options.output_base >= 0 ? options.output_base : report.input->base_to_keep();
  auto const wrote  = write_output(options.output, tensor, options.to,
                                   {.single_precision = options.precision == "f32",
                                    .packed           = options.packed,
                                    .threads          = options.common.threads,
                                    .index_base       = base,
                                    .labels           = report.input->labels},
                                   report);
  show("tensor   {}: {} ({})\n{}{}", report.input->path, tensor_text(*report.input), report.input->dialect,
       labels_text(report.input->labels), wrote);
  return 0;
}

}  // namespace polyad::cli
