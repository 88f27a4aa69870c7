// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/choice_commands.hpp"

#include <limits>
#include <string>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

void add_shared(Command& command, EstimateOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
  add_duplicates(command, options.duplicates, {"sum", "last", "error"});
  add_rank(command, options.rank, "Number of components")->required();
  command
      .add_option("-i,--iterations", options.iterations, "Iterations of CP-ALS among which a build is shared")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("N")
      ->capture_default_str();
  add_precision(command, options.precision);
  add_device_memory(command, options.device_memory,
                    "Memory of the device, in bytes or as 8G. A host backend simulates a device");
  add_common(command);
}

void check(EstimateOptions const& options) {
  refuse_overwriting(options.tensor, options.common.report, "--report");
}

}  // namespace

ChoiceCommands::ChoiceCommands(CLI::App& app, SelectedCommands const& meant) : m_app(app) {
  if (meant.contains("estimate")) add_estimate();
  if (meant.contains("tune")) add_tune();
}

void ChoiceCommands::add_estimate() {
  Command estimate(m_app, "estimate", "Predict bytes and time of each format, before anything runs",
                   m_estimate.common);
  add_shared(estimate, m_estimate);
  estimate.footer(
      "Predictions use the tensor's sizes, slices and fibers, and a short measurement of the machine. "
      "Nothing is built.\n"
      "Example: polyad estimate uber.tns.xz -r 32 --device-memory 8G");
}

void ChoiceCommands::add_tune() {
  Command tune(m_app, "tune", "Try the formats on a tensor and name the fastest", m_tune.of.common);
  add_shared(tune, m_tune.of);
  add_format(tune, m_tune.format, "Try only this format, in all its shapes: " + format_names());
  tune.add_flag(
      "--store", m_tune.store,
      "Keep the choice in TENSOR.tune.json, next to the tensor. --format auto finds it for the same rank, "
      "precision and machine");
  tune.footer("Example: polyad tune uber.tns.xz -r 32 -i 20 --store");
}

std::optional<Options> ChoiceCommands::chosen() {
  if (is_given(m_app, "estimate")) {
    check(m_estimate);
    return m_estimate;
  }
  if (is_given(m_app, "tune")) {
    check(m_tune.of);
    if (m_tune.format == "auto") refuse("--format takes the name of one format. Leave it out to try all");
    if (!m_tune.format.empty() && format_offers(m_tune.format, Capability::streaming))
      refuse("--format " + m_tune.format +
             ": tune does not try a tensor in host memory. --format auto streams a tensor that does not fit");
    if (m_tune.store &&
        (!std::filesystem::is_regular_file(m_tune.of.tensor) || io::own_descriptor(m_tune.of.tensor)))
      refuse("--store keeps the choice next to the tensor, so the tensor must be a file");
    return m_tune;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
