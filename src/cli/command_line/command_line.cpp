// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/command_line.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "cli/command_line/choice_commands.hpp"
#include "cli/command_line/command_parts.hpp"
#include "cli/command_line/completion_commands.hpp"
#include "cli/command_line/file_commands.hpp"
#include "cli/command_line/help.hpp"
#include "cli/command_line/product_commands.hpp"
#include "cli/drivers/factor.hpp"
#include "cli/report/git_hash.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

void add_cpd(CLI::App& command, CpdOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
  add_duplicates(command, options.duplicates, {"sum", "last", "error"});
  command.add_flag("--drop-zeros", options.drop_zeros, "Leave out nonzeros whose value is 0");
  command.add_option("-r,--rank", options.rank, "Number of components")
      ->required()
      ->check(whole_number<std::uint64_t>())
      ->type_name("R");
  command.add_option("-i,--iterations", options.max_iterations, "Most iterations")
      ->check(whole_number<int>())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--tol", options.tolerance,
                  "Stop when the fit changes by less between two iterations; 0 never does")
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--time-limit", options.time_limit_s, "Stop after the iteration that passes S seconds")
      ->type_name("S");
  command
      .add_option("--format", options.format,
                  "Storage format: " + known_formats() +
                      "; or auto, the fastest that fits by what is known of tensor and machine")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--tune", options.tune, "With --format auto: try all formats that fit, on this tensor");
  add_precision(command, options.precision, "Of values and factors: f32 or f64");
  command.add_option("--seed", options.seed, "Of the random start")
      ->check(whole_number<std::uint64_t>())
      ->type_name("S")
      ->capture_default_str();
  command
      .add_option("--init", options.init,
                  "Start: random; nvecs, the leading left singular vectors of the unfolded tensor; or a "
                  "model file, whose factors are taken (its weights play no part)")
      ->type_name("random|nvecs|FILE")
      ->capture_default_str();
  command
      .add_option(
          "--restarts", options.restarts,
          "Random starts, run side by side on a device; the best fit wins, the first start is that of "
          "--seed")
      ->check(CLI::Range(1, 1000000))
      ->type_name("K")
      ->capture_default_str();
  add_device_memory(
      command, options.device_memory,
      "Most memory to take on the device, in bytes or as 8G (on a host backend: a device that is "
      "simulated); a tensor that does not fit is streamed");
  command.add_flag(
      "--deterministic", options.deterministic,
      "Sum in a fixed order: the same factors in every run on one device, and on a host with any "
      "number of threads");
  command.add_flag(
      "--phases", options.time_phases,
      "Time the phases of each iteration for the report; the fences this takes slow it a little");
  command
      .add_option("-o,--output", options.output,
                  "Write the model: .ktns or .txt as Tensor Toolbox text, .npz for numpy")
      ->type_name("FILE");
  command
      .add_option("--checkpoint", options.checkpoint,
                  "Write checkpoints to this file, the last one at the end")
      ->type_name("FILE");
  command.add_option("--checkpoint-every", options.checkpoint_every, "Iterations between them")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("K")
      ->capture_default_str();
  command
      .add_option("--resume", options.resume,
                  "Go on from a checkpoint: with --deterministic, to the bits of a run that never stopped")
      ->type_name("FILE");
  add_common(command, options.common);
}

void check(CpdOptions const& options) {
  if (options.rank == 0) refuse("the rank must be at least 1");
  if (options.max_iterations < 1)
    refuse("-i takes at least 1 iteration, not " + std::to_string(options.max_iterations));
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance)) refuse("--tol takes a number from 0 on");
  if (options.tune && options.format != "auto") refuse("--tune chooses a format: leave --format out");
  if (options.tune && !options.resume.empty())
    refuse("--resume goes on in the checkpoint's format: leave --tune out");
  if (options.restarts > 1 && options.init != "random")
    refuse("--restarts are random starts: leave --init out");
  if (!(options.time_limit_s > 0)) refuse("--time-limit takes seconds, more than 0");
  if (options.restarts > 1 && !(options.checkpoint.empty() && options.resume.empty()))
    refuse("--restarts have no checkpoints: run them one by one");
  if (options.init != "random" && !options.resume.empty()) refuse("--resume is a start: leave --init out");
  refuse_overwriting(options.tensor, options.checkpoint, "--checkpoint");
  if (same_file(options.checkpoint, options.output) || same_file(options.checkpoint, options.common.report))
    refuse("--checkpoint and another output name the same file");
  refuse_overwriting(options.resume, options.output, "-o");
  refuse_overwriting(options.resume, options.common.report, "--report");
  refuse_overwriting(options.tensor, options.common.report, "--report");
  if (starts_from_file(options)) refuse_overwriting(options.init, options.common.report, "--report");
  if (options.output.empty()) return;
  static_cast<void>(io::model_kind(options.output));
  refuse_overwriting(options.tensor, options.output, "-o");
  if (same_file(options.output, options.common.report)) refuse("-o and --report name the same file");
}

void check(StatsOptions const& options) {
  refuse_overwriting(options.tensor, options.common.report, "--report");
}

void check(InfoOptions const&) {}

}  // namespace

std::optional<Options> parse_command_line(int argc, char const* const* argv) {
  CLI::App app("Factors sparse tensors on one CPU core, on many, or on a GPU.", "polyad");
  app.footer(exit_codes);
  app.set_version_flag("--version", std::string("polyad " POLYAD_VERSION " (") + git_hash() + ")");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());

  CpdOptions cpd;
  StatsOptions stats;
  InfoOptions info;
  auto* const cpd_command =
      app.add_subcommand("cpd", "Canonical polyadic decomposition by alternating least squares");
  add_cpd(*cpd_command, cpd);
  auto* const stats_command = app.add_subcommand("stats", "Sizes, sparsity and values of a tensor");
  add_tensor(*stats_command, stats.tensor, stats.index_base);
  add_common(*stats_command, stats.common);
  cpd_command->footer("Example: polyad cpd uber.tns.xz -r 16 -o model.ktns");
  stats_command->footer("Example: polyad stats uber.tns.xz");
  ProductCommands products(app);
  CompletionCommands completion(app);
  FileCommands files(app);
  ChoiceCommands choices(app);
  auto* const info_command =
      app.add_subcommand("info", "Version, backend, and the device found against the one compiled for");
  add_common(*info_command, info.common);

  add_manual(app);

  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& success) {
    app.exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (CLI::ParseError const& error) {
    std::string name = "polyad";
    for (auto const* command : app.get_subcommands()) name += " " + command->get_name();
    refuse(one_line(error.what()) + " (see " + name + " --help)");
  }
  for (auto* const tensor : {&cpd.tensor, &stats.tensor})
    if (*tensor == "-") *tensor = "/dev/stdin";
  auto const checked = [](auto const& options) {
    check(options);
    return Options(options);
  };
  if (auto chosen = products.chosen()) return chosen;
  if (auto chosen = files.chosen()) return chosen;
  if (auto chosen = choices.chosen()) return chosen;
  if (auto chosen = completion.chosen()) return chosen;
  if (*cpd_command) return checked(cpd);
  if (*stats_command) return checked(stats);
  return checked(info);
}

}  // namespace polyad::cli
