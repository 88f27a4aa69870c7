// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/drivers.hpp"

#include <algorithm>
#include <utility>

#include "cli/format_choice/machine.hpp"
#include "cli/memory/loading_bytes.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::cli {

namespace {

AnyFormatOptions library_options(EstimateOptions const& options, io::CoordinateList const& tensor,
                                 BackendReport const& backend) {
  AnyFormatOptions result;
  result.rank          = options.rank;
  result.iterations    = options.iterations;
  result.survey        = survey_list(tensor, options.common.threads);
  int const bytes      = options.precision == "f32" ? 4 : 8;
  result.loading_bytes = loading_bytes(tensor, bytes, options.device_memory.has_value());
  // The user requested a choice, so this machine is measured, however short the run.
  result.hooks.machine  = [backend, bytes](double) { return machine_ceilings(backend, bytes, 1e9); };
  result.hooks.progress = stop_if_interrupted;
  return result;
}

FormatsReport report_of(EstimateOptions const& options, FormatComparison&& found) {
  FormatsReport formats;
  formats.iterations = options.iterations;
  formats.free_bytes = found.free_bytes;
  formats.best       = std::move(found.best);
  formats.because    = std::move(found.because);
  formats.candidates = std::move(found.candidates);
  for (auto& shape : found.shapes) formats.shapes.push_back({std::move(shape.format), shape.seconds});
  return formats;
}

}  // namespace

FormatsReport estimate_formats(EstimateOptions const& options, io::CoordinateList const& tensor,
                               BackendReport const& backend) {
  auto const wanted    = library_options(options, tensor, backend);
  bool const simulates = options.device_memory.has_value();
  auto formats         = report_of(
      options, with_types(options.precision, needs_wide_index(tensor), [&](auto scalar, auto index) {
        return polyad::estimate_formats<decltype(scalar), decltype(index)>(Space(), wanted,
                                                                           listed_bytes(tensor, simulates));
      }));
  if (!runs_on_device()) return formats;
  int const bytes    = options.precision == "f32" ? 4 : 8;
  formats.host_bytes = formats.streamed_host_bytes = host_bytes_of_device(tensor, bytes);
  for (auto const& candidate : formats.candidates)
    if (candidate.streams)
      formats.streamed_host_bytes =
          std::max(formats.streamed_host_bytes, host_bytes_of_device(tensor, bytes, candidate.bytes));
  return formats;
}

FormatsReport tune_formats(TuneOptions const& options, io::CoordinateList&& tensor, Report& report) {
  auto wanted = library_options(options, tensor, *report.backend);
  if (!options.format.empty()) wanted.format = options.format;
  bool const is_wide = needs_wide_index(tensor);
  return report_of(options, with_types(options.precision, is_wide, [&](auto scalar, auto index) {
                     Space const space;
                     auto const coo = to_device<decltype(scalar), decltype(index)>(space, std::move(tensor),
                                                                                   *report.input);
                     stop_if_interrupted("reading the tensor");
                     return polyad::tune_formats(space, coo, wanted);
                   }));
}

}  // namespace polyad::cli
