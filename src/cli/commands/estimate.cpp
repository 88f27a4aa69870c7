// SPDX-License-Identifier: BSD-3-Clause
// polyad estimate: reads a tensor and predicts the time and memory of each format.

#include "cli/commands/commands.hpp"
#include "cli/format_choice/formats_of.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

namespace {

/// "~1.23": milliseconds
std::string milliseconds(double seconds, bool predicted) {
  return fmt::format("{}{:.3g}", predicted ? "~" : "", seconds * 1e3);
}

}  // namespace

void print_formats(FormatsReport const& formats) {
  show("{:<14} {:>9} {:>9} {:>4} {:>7} {:>9} {:>9} {:>10}  {}\n", "format", "bytes", "needs", "fits",
       "load ms", "build ms", "iter ms", "with build", "ms per mode");
  for (auto const& c : formats.candidates) {
    auto const& times = c.measured ? c.measured : c.predicted;
    std::string load = "-", build = "-", iteration = "-", with_build = "-", modes = "-";
    if (times) {
      bool const predicted = !c.measured;
      load                 = milliseconds(times->load_s, true);
      build                = milliseconds(times->build_s, predicted);
      iteration            = milliseconds(times->iteration_s, predicted);
      with_build =
          milliseconds(times->iteration_s + (times->load_s + times->build_s) / formats.iterations, predicted);
      modes.clear();
      for (double const seconds : times->mode_s)
        modes += (modes.empty() ? "" : " ") + milliseconds(seconds, predicted);
    }
    show("{:<14} {:>9} {:>9} {:>4} {:>7} {:>9} {:>9} {:>10}  {}\n", c.name, bytes_text(c.bytes),
         bytes_text(c.need_bytes), c.fits ? "yes" : "no", load, build, iteration, with_build, modes);
  }
}

void print_choice(Report const& report, EstimateOptions const& options) {
  auto const& formats = std::get<FormatsReport>(report.result);
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show_stored_rows(*report.input);
  show("run      CP of rank {}, {}, {:.0f} iterations, {} with concurrency {}, {} free\n", options.rank,
       options.precision, formats.iterations, report.backend->name, report.backend->concurrency,
       bytes_text(formats.free_bytes));
  if (formats.best.empty())
    show("format   none fits: {}\n", formats.because);
  else
    show("format   {} because {}\n", formats.best, formats.because);
  show("\n");
}

int run(EstimateOptions const& options, Report& report) {
  expect_usable_device();
  auto tensor = read_input(
      TensorInput{.path = options.tensor, .index_base = options.index_base, .duplicates = options.duplicates},
      options.common, report);
  Session const session(options.common, report, options.device_memory);
  static_cast<void>(compact_list(tensor, *report.input));  // as cpd does
  report.result = estimate_formats(options, tensor, *report.backend);
  print_choice(report, options);
  auto const& formats = std::get<FormatsReport>(report.result);
  print_formats(formats);
  if (formats.host_bytes > 0)
    show("\nhost     {} of its memory for the tensor on its way, {} if it is streamed\n",
         bytes_text(formats.host_bytes), bytes_text(formats.streamed_host_bytes));
  show(
      "\n~: predicted. needs: peak memory, factors included. load: loading the kernels, once per process. "
      "with build: an iteration including its share of load and build.\n");
  return 0;
}

}  // namespace polyad::cli
