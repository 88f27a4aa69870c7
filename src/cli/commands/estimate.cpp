// SPDX-License-Identifier: BSD-3-Clause
// polyad estimate: reads a tensor and predicts the time and memory of each format. polyad tune: tries the
// formats on the tensor, and can keep the choice.
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/format_choice/stored_choice.hpp"
#include "cli/tensors/compact_list.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// "~1.23": milliseconds
std::string milliseconds(double seconds, bool predicted) {
  return fmt::format("{}{:.3g}", predicted ? "~" : "", seconds * 1e3);
}

/// A line for each format, the best first: bytes, needed memory, build time, the time of each mode and of an
/// iteration. The last column adds an iteration's share of the build. Times are measured if possible;
/// predicted times have a tilde.
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

/// The lines above the table.
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

}  // namespace

int run(EstimateOptions const& options, Report& report) {
  TensorInput const input{
      .path = options.tensor, .index_base = options.index_base, .duplicates = options.duplicates};
  auto tensor = read_input_file(input, options.common, report).tensor;
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

int run(TuneOptions const& options, Report& report) {
  if (options.store) io::expect_writable(choice_path(options.tensor));
  // Reads it as cpd does, since the choice is kept for cpd.
  auto tensor = read_input_file(input_to_sum(options), options.common, report).tensor;
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
