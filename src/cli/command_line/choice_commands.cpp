// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/choice_commands.hpp"

#include <string>

#include "cli/command_line/command_parts.hpp"
#include "cli/drivers/factor.hpp"

namespace polyad::cli {

namespace {

void add_shared(CLI::App& command, EstimateOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
  command.add_option("-r,--rank", options.rank, "Number of components")
      ->required()
      ->check(whole_number<std::uint64_t>())
      ->type_name("R");
  command
      .add_option("-i,--iterations", options.iterations, "Iterations of CP-ALS that a build is spread over")
      ->check(whole_number<int>())
      ->type_name("N")
      ->capture_default_str();
  add_precision(command, options.precision, "Of values and factors: f32 or f64");
  add_device_memory(
      command, options.device_memory,
      "Memory of the device, in bytes or as 8G (on a host backend: of a device that is simulated)");
  add_common(command, options.common);
}

void check(EstimateOptions& options) {
  if (options.tensor == "-") options.tensor = "/dev/stdin";
  if (options.rank == 0) refuse("the rank must be at least 1");
  if (options.iterations < 1)
    refuse("-i takes at least 1 iteration, not " + std::to_string(options.iterations));
  refuse_overwriting(options.tensor, options.common.report, "--report");
}

}  // namespace

ChoiceCommands::ChoiceCommands(CLI::App& app) : m_app(app) {
  auto& estimate =
      *app.add_subcommand("estimate", "What each format of a tensor would take, before anything runs");
  add_shared(estimate, m_estimate);
  estimate.footer(
      "From the sizes, slices and fibers of the tensor and a short measurement of the machine; nothing is "
      "built.\n"
      "Example: polyad estimate uber.tns.xz -r 32 --device-memory 8G");
  auto& tune = *app.add_subcommand("tune", "Try the formats on a tensor, and say which is the fastest");
  add_shared(tune, m_tune.of);
  tune.add_option("--format", m_tune.format,
                  "Try this format alone: " + known_formats() + "; f-coo in all its shapes")
      ->type_name("NAME");
  tune.add_flag(
      "--store", m_tune.store,
      "Keep the choice beside the tensor, in TENSOR.tune.json, where --format auto of this rank, precision "
      "and machine finds it");
  tune.footer("Example: polyad tune uber.tns.xz -r 32 -i 20 --store");
}

std::optional<Options> ChoiceCommands::chosen() {
  if (m_app.got_subcommand("estimate")) {
    check(m_estimate);
    return m_estimate;
  }
  if (m_app.got_subcommand("tune")) {
    check(m_tune.of);
    if (m_tune.format == "auto") refuse("--format takes one format; all are tried without it");
    if (m_tune.format == "streamed-blco")
      refuse(
          "--format streamed-blco: a tensor in host memory is not tried; --format auto streams what does not "
          "fit");
    if (!m_tune.format.empty()) static_cast<void>(resolve_format(m_tune.format));
    if (m_tune.store && !std::filesystem::is_regular_file(m_tune.of.tensor))
      refuse("--store keeps the choice beside the tensor, which must be a file");
    return m_tune;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
