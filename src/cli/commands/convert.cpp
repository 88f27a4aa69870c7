// SPDX-License-Identifier: BSD-3-Clause
// polyad convert: a tensor in another dialect.

#include "cli/commands/commands.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "cli/tensors/write_output.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

int run(ConvertOptions const& options, Report& report) {
  io::expect_writable(options.output);
  auto const tensor = read_input(options.input, options.common, report);
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
