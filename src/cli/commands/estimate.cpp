// SPDX-License-Identifier: BSD-3-Clause
// polyad estimate: reads a tensor and says what each format would take.
#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/format_choice/formats_of.hpp"
#include "cli/format_choice/formats_table.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/run/session.hpp"
#include "cli/tensors/read_input.hpp"
#include "cli/tensors/survey_list.hpp"
#include "formats/choose_format.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

void print_choice(Report const& report, EstimateOptions const& options) {
  auto const& formats = std::get<FormatsReport>(report.result);
  fmt::print("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  fmt::print("run      CP of rank {}, {}, {:.0f} iterations, {} with concurrency {}, {} free\n", options.rank,
             options.precision, formats.iterations, report.backend->name, report.backend->concurrency,
             bytes_text(formats.free_bytes));
  if (formats.best.empty())
    fmt::print("format   none fits: {}\n", formats.because);
  else
    fmt::print("format   {} because {}\n", formats.best, formats.because);
  fmt::print("\n");
}

int run(EstimateOptions const& options, Report& report) {
  expect_usable_device();
  auto const tensor = read_input(options.tensor, options.index_base, options.common, report);
  Session const session(options.common.threads, options.common.verbose, options.device_memory);
  report.backend = session.backend();
  report.result  = estimate_formats(options, tensor, *report.backend);
  print_choice(report, options);
  print_formats(std::get<FormatsReport>(report.result));
  fmt::print(
      "\n~: predicted. needs: peak memory, factors included. load: loading the kernels, once a process. "
      "with b.: an iteration with its share of load and build.\n");
  return 0;
}

FormatsReport estimate_formats(EstimateOptions const& options, io::CoordinateList const& tensor,
                               BackendReport const& backend) {
  FormatsReport formats;
  formats.iterations     = options.iterations;
  formats.free_bytes     = free_memory();
  int const scalar_bytes = options.precision == "f32" ? 4 : 8;
  auto const survey      = survey_list(tensor, options.common.threads);
  // A user who asks wants this machine's numbers, however short the run.
  auto const machine = machine_ceilings(backend, scalar_bytes, 1e9);
  bool const is_wide = tensor.wide() || tensor.nnz() > ~std::uint32_t(0);
  detail::CostInput const input{survey, machine, options.rank, scalar_bytes, is_wide ? 8 : 4};
  detail::FormatWish const wish{.iterations = formats.iterations, .bytes = formats.free_bytes};
  formats.candidates = detail::candidates(input, wish);
  try {
    auto const choice = detail::choose(formats.candidates, wish);
    formats.best      = formats.candidates[choice.candidate].name;
    formats.because   = choice.because;
  } catch (MemoryError const& error) {
    formats.because = error.what();
  }
  return formats;
}

}  // namespace polyad::cli
