// SPDX-License-Identifier: BSD-3-Clause
// polyad tune: tries the formats on a tensor, and can keep the choice.

#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/format_choice/formats_of.hpp"
#include "cli/format_choice/stored_choice.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

int run(TuneOptions const& options, Report& report) {
  expect_usable_device();
  if (options.store) io::expect_writable(choice_path(options.tensor));
  // Reads it as cpd does, since the choice is kept for cpd.
  auto tensor = read_input(input_to_sum(options), options.common, report);
  if (tensor.order() < 2) refuse_file(options.tensor, "has one mode only; CP needs two or more");
  Session const session(options.common, report, options.device_memory);
  auto const key = choice_key(options.tensor, tensor, *report.backend, options.rank, options.precision);
  static_cast<void>(compact_list(tensor, *report.input));
  FormatsReport formats = tune_formats(options, std::move(tensor), report);
  if (options.store && key) {
    StoredChoice choice{formats.best, formats.iterations};
    if (!formats.shapes.empty()) choice.format = formats.shapes.front().format;
    write_choice(*key, choice);
    formats.files.push_back(choice_path(options.tensor).string());
  }
  report.result = std::move(formats);
  print_choice(report, options);
  auto const& found = std::get<FormatsReport>(report.result);
  print_formats(found);
  if (!found.shapes.empty()) show("\n{:<48} {:>9}\n", "shape", "ms");
  for (auto const& shape : found.shapes) show("{:<48} {:>9.3g}\n", shape.format, shape.seconds * 1e3);
  for (auto const& file : found.files) show("wrote    {}\n", file);
  return 0;
}

}  // namespace polyad::cli
