// SPDX-License-Identifier: BSD-3-Clause
// polyad tucker: a Tucker decomposition by HOOI.
#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/products.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/progress.hpp"
#include "cli/run/session.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

int run(TuckerOptions const& options, Report& report) {
  expect_usable_device();
  if (!options.output.empty()) io::expect_writable(options.output);
  auto tensor = read_input(options.tensor, options.index_base, options.common, report);
  if (tensor.order() < 2)
    throw InputError(options.tensor.string(), 0, 0, "has one mode only; Tucker needs two or more");
  Session const session(options.common.threads, options.common.verbose);
  report.backend = session.backend();
  double seconds = 0;
  {
    Progress progress(options.max_iterations, options.time_limit_s);
    decompose(options, std::move(tensor), report, [&](IterationReport const& it) {
      report.iterations.push_back(it);
      seconds += it.seconds;
      progress.iteration(it.iteration, it.fit, it.delta, it.seconds);
      return interrupt_signal() == 0;
    });
  }
  auto& result = std::get<TuckerReport>(report.result);
  if (!options.output.empty()) result.files.push_back(options.output.string());
  fmt::print("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  fmt::print("model    Tucker with a core of {}, {}, {} with concurrency {}\n", dims_text(options.ranks),
             options.precision, report.backend->name, report.backend->concurrency);
  fmt::print("fit      {:.9f} after {} iterations ({})\n", result.fit, report.iterations.size(),
             result.reason);
  fmt::print("time     {} to read, {} to build, {} for the iterations\n", duration_text(report.input->read_s),
             duration_text(report.format->build_s), duration_text(seconds));
  for (auto const& file : result.files) fmt::print("wrote    {}\n", file);
  if (interrupt_signal() == 0) return 0;
  fmt::print(stderr, "polyad: interrupted after iteration {}\n", report.iterations.size());
  return 128 + interrupt_signal();
}

}  // namespace polyad::cli
