// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

void add_shared(Command& command, EstimateOptions& options) {
  add_summed_tensor(command, options);
  add_rank(command, options.rank, "Number of components")->required();
  command
      .add_option("-i,--iterations N", options.iterations,
                  "Iterations of CP-ALS among which a build is shared")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_precision(command, options.precision);
  add_device_memory(command, options.device_memory,
                    "Memory of the device, in bytes or as 8G. A host backend simulates a device");
  add_common(command);
}

}  // namespace

void declare(Command& command, EstimateOptions& options) {
  add_shared(command, options);
  command.footer(
      "Predictions use the tensor's sizes, slices and fibers, and a short measurement of the machine. "
      "Nothing is built.\n"
      "Example: polyad estimate uber.tns.xz -r 32 --device-memory 8G");
}

void declare(Command& command, TuneOptions& options) {
  add_shared(command, options);
  add_format(command, options.format, "Try only this format, in all its shapes: " + format_names());
  command.add_flag(
      "--store", options.store,
      "Keep the choice in TENSOR.tune.json, next to the tensor. --format auto finds it for the same rank, "
      "precision and machine");
  command.footer("Example: polyad tune uber.tns.xz -r 32 -i 20 --store");
}

void check(EstimateOptions const& options) {
  refuse_overwriting(options.tensor, options.common.report, "--report");
}

void check(TuneOptions const& options) {
  check(static_cast<EstimateOptions const&>(options));
  if (options.format == "auto") refuse("--format takes the name of one format. Leave it out to try all");
  if (!options.format.empty() && format_offers(options.format, Capability::streaming))
    refuse("--format " + options.format +
           ": tune does not try a tensor in host memory. --format auto streams a tensor that does not fit");
  if (options.store &&
      (!std::filesystem::is_regular_file(options.tensor) || io::own_descriptor(options.tensor)))
    refuse("--store keeps the choice next to the tensor, so the tensor must be a file");
}

}  // namespace polyad::cli
