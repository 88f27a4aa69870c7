// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>

#include "factor.hpp"
#include "git_hash.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

constexpr int most_threads = 4096;

constexpr auto exit_codes =
    "Exit codes: 0 done; 2 usage; 3 bad input; 4 out of memory; 5 numerical breakdown; 6 cannot write; "
    "7 backend or device not usable; 130, 143 interrupted (what was reached is written).\n"
    "When a command fails nothing is written to the -o file. The --report file is written for every outcome "
    "but a usage error, with the exit code and the error's text.\n";

[[noreturn]] void refuse(std::string const& text) {
  throw UsageError(text);
}

/// CLI11 lets a negative number wrap around and cuts off one that is too large.
template <class Integer>
CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        Integer value{};
        auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (fault == std::errc() && end == text.data() + text.size()) return "";
        return fmt::format("'{}' is not a whole number from {} to {}", text,
                           std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
      },
      "");
}

void add_common(CLI::App& command, CommonOptions& common) {
  command.add_option("--report", common.report, "Write a report in JSON to this file")->type_name("FILE");
  command
      .add_option("-t,--threads", common.threads,
                  "Threads of the host, for reading and computing; all cores unless given")
      ->check(CLI::Range(1, most_threads))
      ->type_name("N");
  command.add_flag("-v,--verbose", common.verbose, "Say on stderr what is being done");
}

void add_tensor(CLI::App& command, std::filesystem::path& tensor, int& index_base) {
  command
      .add_option("TENSOR", tensor,
                  "Coordinate text (.tns): N indices and a value a line; plain or packed with xz, gzip or "
                  "zstd; - reads stdin")
      ->required()
      ->type_name("");
  command
      .add_option("--index-base", index_base,
                  "What the first index is called, 0 or 1; unless given, 0 if any index is 0, else 1")
      ->check(CLI::IsMember({"0", "1"}))
      ->type_name("0|1");
}

void add_cpd(CLI::App& command, CpdOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
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
      .add_option(
          "--format", options.format,
          "Storage format: " + known_formats() + "; or auto, which is sorted on every backend for now")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--precision", options.precision, "Of values and factors: f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->type_name("f32|f64")
      ->capture_default_str();
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
  add_common(command, options.common);
}

/// Whether two names stand for one file, which need not exist.
bool same_file(std::filesystem::path const& a, std::filesystem::path const& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  if (std::filesystem::equivalent(a, b, ignored)) return !std::filesystem::is_character_file(a, ignored);
  return a.lexically_normal() == b.lexically_normal();
}

void refuse_overwriting(std::filesystem::path const& input, std::filesystem::path const& output,
                        std::string const& option) {
  if (same_file(input, output)) refuse(option + " would overwrite the input " + input.string());
}

void check(CpdOptions const& options) {
  if (options.rank == 0) refuse("the rank must be at least 1");
  if (options.max_iterations < 1)
    refuse("-i takes at least 1 iteration, not " + std::to_string(options.max_iterations));
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance)) refuse("--tol takes a number from 0 on");
  if (options.restarts > 1 && options.init != "random")
    refuse("--restarts are random starts: leave --init out");
  if (!(options.time_limit_s > 0)) refuse("--time-limit takes seconds, more than 0");
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

/// CLI11's texts end with hints on further lines and full stops; ours are one line.
std::string one_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

std::optional<Options> parse_command_line(int argc, char const* const* argv) {
  CLI::App app("Factors sparse tensors on one CPU core, on many, or on a GPU.", "polyad");
  app.footer(exit_codes);
  app.set_version_flag("--version", std::string("polyad " POLYAD_VERSION " (") + git_hash() + ")");
  app.require_subcommand(1);

  CpdOptions cpd;
  StatsOptions stats;
  InfoOptions info;
  auto* const cpd_command =
      app.add_subcommand("cpd", "Canonical polyadic decomposition by alternating least squares");
  add_cpd(*cpd_command, cpd);
  cpd_command->footer(exit_codes);
  auto* const stats_command = app.add_subcommand("stats", "Sizes, sparsity and values of a tensor");
  add_tensor(*stats_command, stats.tensor, stats.index_base);
  add_common(*stats_command, stats.common);
  auto* const info_command =
      app.add_subcommand("info", "Version, backend, and the device found against the one compiled for");
  add_common(*info_command, info.common);

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
  if (*cpd_command) return checked(cpd);
  if (*stats_command) return checked(stats);
  return checked(info);
}

}  // namespace polyad::cli
