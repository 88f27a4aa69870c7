// SPDX-License-Identifier: BSD-3-Clause
// The options of cpd, estimate and tune.
#include <cstdint>
#include <limits>
#include <string>

#include "cli/command_line/declarations.hpp"
#include "cli/command_line/declared_options.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

/// A repeatable option whose values are [MODE:]X.
void add_mode_numbers(Command& command, TypedNumbers& typed, std::string const& meaning) {
  std::string const name = typed.option;
  command.add_option(name + " [MODE:]X", typed.texts, meaning, listed_as(name.substr(2), typed.texts, ","))
      ->allow_extra_args(false);
}

/// \throws UsageError unless the text is "exact" or a number of at least 1
int inner_sweeps_of(std::string const& text) {
  if (text == "exact") return exact_inner;
  int const sweeps = typed_number<int>(text).value_or(0);
  if (sweeps < 1 || sweeps == exact_inner)
    refuse("--inner is a number of sweeps, at least 1, or exact, not '{}'", printable(text));
  return sweeps;
}

/// The options for bounds and penalties.
void add_constraints(Command& command, CpdOptions& options) {
  auto& typed = options.constraints;
  command.add_flag_with_text("--nonnegative", typed.nonnegative_text, "all",
                             "Factors without negative entries, or only those of modes: --nonnegative=0,2 or "
                             "--nonnegative=user");
  add_mode_numbers(command, typed.lower,
                   "The least entry of the factors, or of those of MODE, a number or a name");
  add_mode_numbers(command, typed.upper, "The largest entry; repeatable as --lower");
  add_mode_numbers(command, typed.l1,
                   "Penalty: X times the sum of all |entries|, which makes many of them 0");
  add_mode_numbers(command, typed.ridge,
                   "Penalty: X/2 ||A||^2. If a mode has a penalty, each needs one or two bounds");
  command.after_parsing([&typed] { read_texts(typed); });
  command.after_parsing([&options] { options.inner_sweeps = inner_sweeps_of(options.inner_text); });
  command.add_shown("--inner K|exact", options.inner_text,
                    "With bounds or --l1: sweeps over each row in an update, or exact: its minimum",
                    [&options](OptionList& list) {
                      if (options.inner_sweeps == exact_inner)
                        list.emplace_back("inner", options.inner_text);
                      else
                        list.emplace_back("inner", std::int64_t{options.inner_sweeps});
                    });
  command
      .add_option("--fix MODES", typed.fixed_texts,
                  "With --init MODEL: modes whose factors stay as they are there",
                  listed_as("fix", typed.fixed_texts, ","))
      ->allow_extra_args(false);
  command.only_for({"--kkt-tol", "--inner"}, "runs with --nonnegative, --lower, --upper or --l1", [&typed] {
    return !(typed.nonnegative_text.empty() && typed.lower.texts.empty() && typed.upper.texts.empty() &&
             typed.l1.texts.empty());
  });
}

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

void declare(Command& command, CpdOptions& options) {
  add_summed_tensor(command, options);
  add_drop_zeros(command, options.drop_zeros);
  CpAlsOptions& of_run = options;
  add_declared(command, of_run);
  command.option("--rank")->required()->default_str("");
  command.after_parsing([&options] {
    if (options.rank == 0) refuse("the rank must be at least 1");
  });
  add_constraints(command, options);
  add_format(command, options.format,
             "Storage format: " + format_names() +
                 "; or auto, the fastest that fits by what is known of tensor and machine");
  command.add_flag("--tune", options.tune, "With --format auto: try all formats that fit, on this tensor");
  add_precision(command, options.precision);
  command.add_shown("--init random|nvecs|FILE", options.init,
                    "Start: random; nvecs, the leading left singular vectors of the unfolded tensor; or the "
                    "factors of a model file, without its weights");
  command.reads("--init", options.start);
  command.after_parsing([&options] {
    if (options.init != "random" && options.init != "nvecs") options.start = options.init;
  });
  command.only_for({"--seed"}, "starts that are drawn, not for --init MODEL",
                   [&options] { return options.start.empty() || options.restarts > 1; });
  command.only_for({"--phases"}, "runs with --report", [&options] { return !options.common.report.empty(); });
  add_device_memory(
      command, options.device_memory,
      "Maximum memory to use on the device, in bytes or as 8G. A host backend simulates a device. A tensor "
      "that does not fit is streamed");
  command
      .add_list("--grid P1,P2,...", options.grid,
                "On several ranks (mpirun): the number of parts of each mode; unset: what sends least", " x ")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  add_deterministic(command, options.deterministic,
                    "factors in every run on one device, and on a host with any number of threads");
  add_output(command, options.output,
             "Write the model: .ktns or .txt as Tensor Toolbox text, .npz for numpy");
  add_common(command);
  command.footer("Example: polyad cpd uber.tns.xz -r 16 -o model.ktns");
}

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

void check(CpdOptions const& options) {
  if (options.tune && options.format != "auto") refuse("--tune chooses a format: leave --format out");
  if (options.tune && !options.resume.empty())
    refuse("--resume continues in the checkpoint's format: leave --tune out");
  bool const has_fixed = !options.constraints.fixed_texts.empty();
  if (has_fixed && options.start.empty() && options.resume.empty())
    refuse("--fix needs the factors that are to stay: name their model by --init MODEL");
  if (options.restarts > 1 && options.init != "random" && !has_fixed)
    refuse("--restarts are random starts: leave --init out");
  if (options.restarts > 1 && !(options.checkpoint.empty() && options.resume.empty()))
    refuse("--restarts have no checkpoints: run them one by one");
  if (options.init != "random" && !options.resume.empty()) refuse("--resume is a start: leave --init out");
  if (!options.output.empty()) static_cast<void>(io::model_kind(options.output));
}

void check(TuneOptions const& options) {
  if (options.format == "auto") refuse("--format takes the name of one format. Leave it out to try all");
  if (!options.format.empty() && format_offers(options.format, Capability::streaming))
    refuse("--format " + options.format +
           ": tune does not try a tensor in host memory. --format auto streams a tensor that does not fit");
  if (options.store &&
      (!std::filesystem::is_regular_file(options.tensor) || io::own_descriptor(options.tensor)))
    refuse("--store keeps the choice next to the tensor, so the tensor must be a file");
}

}  // namespace polyad::cli
