// SPDX-License-Identifier: BSD-3-Clause
// polyad cpd: reads a tensor, factors it by CP-ALS, and writes the model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/factor.hpp"
#include "cli/drivers/factor_on_ranks.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/names/settle_modes.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/note_unkept.hpp"
#include "cli/streams/progress.hpp"
#include "cli/streams/run_files.hpp"
#include "cli/tensors/read_input.hpp"
#include "cli/tensors/show_stored_rows.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/model_defect.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

std::optional<io::HostKtensor> read_start(CpdOptions const& options) {
  if (!starts_from_file(options)) return std::nullopt;
  io::HostKtensor start = io::read_model(options.start);
  if (start.rank() != options.rank)
    throw InputError(options.start.string(), 0, 0,
                     fmt::format("holds a model of rank {}, not {}", start.rank(), options.rank));
  return start;
}

/// Reads a checkpoint, whose format must be one of ours.
std::optional<Resumed> read_resumed(CpdOptions const& options) {
  if (options.resume.empty()) return std::nullopt;
  auto const checkpoint = io::read_checkpoint(options.resume);
  bool known            = checkpoint.format != "auto";
  try {
    expect_format(checkpoint.format);
  } catch (UsageError const&) {
    known = false;
  }
  if (!known)
    throw InputError(options.resume.string(), 0, 0,
                     "is a checkpoint of the unknown format '" + checkpoint.format + "'");
  return Resumed{checkpoint.format, static_cast<int>(checkpoint.iteration)};
}

/// The number of the last iteration, which may be one of the run that is resumed.
int iterations_done(Report const& report, std::optional<Resumed> const& resumed) {
  if (!report.iterations.empty()) return report.iterations.back().iteration;
  return resumed ? resumed->iteration : 0;
}

void summarise_constraints(CpdReport const& result) {
  if (!result.kkt_violation) return;
  show("bounds   objective {:.6g}, KKT violation {:.2g}, zeros", result.objective, *result.kkt_violation);
  for (std::size_t n = 0; n < result.zeros.size(); ++n)
    show("{} {:.1f} %", n == 0 ? "" : ",", 100 * result.zeros[n]);
  show(" of the modes' entries\n");
  if (!result.zero_components.empty())
    say("polyad: warning: {} of {} components are zero: {}\n", result.zero_components.size(),
        result.weights.size(), fmt::join(result.zero_components, ", "));
}

void summarise(CpdOptions const& options, Report const& report, int last, double seconds) {
  auto const& result  = std::get<CpdReport>(report.result);
  auto const& backend = *report.backend;
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show_stored_rows(*report.input);
  show("model    CP of rank {}, {}, {}, {} with concurrency {}\n", options.rank, report.format->name,
       options.precision, backend.name, backend.concurrency);
  if (report.ranks)
    show("ranks    {} as {}{}, by {}; largest over mean: nonzeros {:.2f}, rows {:.2f}, bytes {:.2f}\n",
         report.ranks->count, fmt::join(report.ranks->grid, " x "),
         report.ranks->labelled ? " of rows in random order" : "", report.ranks->exchange,
         report.ranks->nonzeros, report.ranks->rows, report.ranks->bytes);
  if (!report.format->chosen_because.empty())
    show("format   {} because {}\n", report.format->name, report.format->chosen_because);
  show("fit      {} after {} iterations ({})\n", fit_text(result.fit, result.fit_error), last, result.reason);
  if (result.gram_fallbacks > 0)
    show("updates  {} took the pseudo-inverse: the Gram matrix was singular\n", result.gram_fallbacks);
  summarise_constraints(result);
  if (result.restarts.size() > 1) {
    auto const& best = result.restarts[result.best_restart];
    double worst     = best.fit;
    for (auto const& restart : result.restarts)
      if (restart.error.empty()) worst = std::min(worst, restart.fit);
    show("starts   {}, fits from {:.9f} to {:.9f}, the best from seed {}\n", result.restarts.size(), worst,
         best.fit, best.seed);
    for (auto const& restart : result.restarts)
      if (!restart.error.empty())
        say("polyad: warning: the start of seed {} was left out: {}\n", restart.seed, restart.error);
  }
  bool const many = !result.restarts.empty();
  show("time     {} to read, {} to build, {} for {}\n", duration_text(report.input->read_s),
       duration_text(report.format->build_s), duration_text(many ? result.restarts_s : seconds),
       many ? "all starts" : "the iterations");
  for (auto const& file : result.files) show("wrote    {}\n", file);
}

/// A model without negative numbers does not reach negative values.
void warn_of_negative_values(std::vector<Constraints> const& constraints, io::CoordinateList const& tensor) {
  if (constraints.empty() || !std::ranges::all_of(constraints, [](auto const& c) { return c.lower >= 0; }))
    return;
  double largest = 0, negative = 0, all = 0;
  for (double const value : tensor.values) largest = std::max(largest, std::abs(value));
  for (double const value : tensor.values) {
    double const share = value / largest;  // whose square neither overflows nor vanishes
    all += share * share;
    if (value < 0) negative += share * share;
  }
  if (negative > 0)
    say("polyad: warning: all modes are nonnegative, and negative values have {:.3g} % of the tensor's "
        "squared "
        "norm: the model cannot reach them\n",
        100 * negative / all);
}

/// Gives advice if the fit has converged to a defective model.
void warn_of_defect(CpdOptions const& options, CpdReport const& result) {
  if (result.defect.empty()) return;
  bool const is_zero       = result.weights.empty() || result.weights.front() == 0;
  bool const is_degenerate = result.defect == to_string(ModelDefect::degenerate);
  std::string const better = options.precision == "f32" ? "--precision f64, " : "";
  char const* const start  = options.init == "nvecs" ? "random" : "nvecs";
  if (is_zero)
    say("polyad: warning: {}. Try {}another --seed, or --init {}. Check that the tensor has values "
        "other than 0, and scale them to a size near 1\n",
        result.defect, better, start);
  else if (is_degenerate)
    say("polyad: warning: {}: the tensor has no best model of rank {}, and more iterations only let them "
        "grow. Try a smaller rank or another --seed\n",
        result.defect, options.rank);
  else
    say("polyad: warning: {}: the {} components were never independent. Try a smaller rank, {}another "
        "--seed, or --init {}\n",
        result.defect, options.rank, better, start);
}

/// Refuses options that several ranks do not support.
void expect_distributed(CpdOptions const& options) {
  auto const refuse = [](char const* what) {
    throw UsageError(
        fmt::format("{} one rank only so far: leave it out, or start polyad without mpirun", what));
  };
  if (options.init == "nvecs") refuse("--init nvecs works on");
  if (options.tune) refuse("--tune works on");
}

TensorInput input_of(CpdOptions const& options) {
  auto input       = input_to_sum(options.tensor, options.index_base, options.duplicates);
  input.drop_zeros = options.drop_zeros;
  return input;
}

/// The end of a run, on rank 0.
int finish(CpdOptions const& options, Report& report, SaveModel const& save, int last, double seconds,
           int signal) {
  auto& result = std::get<CpdReport>(report.result);
  finish_files_in_spite_of_signals();
  if (!options.output.empty()) {
    save(options.output);
    result.files.push_back(options.output.string());
  }
  if (!options.checkpoint.empty()) result.files.push_back(options.checkpoint.string());
  summarise(options, report, last, seconds);
  warn_of_defect(options, result);
  if (signal == 0) return 0;
  say("polyad: interrupted after iteration {}\n", last);
  return 128 + signal;
}

/// Refuses a grid if there is only one rank.
void expect_no_grid(CpdOptions const& options) {
  for (int const p : options.grid)
    if (p > 1)
      throw UsageError(fmt::format("--grid {} is for several ranks: start a build with MPI by mpirun",
                                   fmt::join(options.grid, ",")));
}

}  // namespace

/// On several ranks all read, and the first prints and writes.
int run(CpdOptions const& given, Report& report) {
  CpdOptions options = given;
  bool const is_root = ranks().rank == 0;
  bool const alone   = ranks().size == 1;
  report.iterates    = true;
  expect_format(options.format);
  expect_usable_device();
  alone ? expect_no_grid(options) : expect_distributed(options);
  finish_files_in_spite_of_signals();  // checkpoints
  auto const resumed_file              = open_run_files(options);
  auto const resumed                   = is_root ? read_resumed(options) : std::nullopt;
  std::optional<io::HostKtensor> start = read_start(options);
  io::CoordinateList tensor;
  if (alone) {
    tensor = read_input(input_of(options), options.common, report);
    settle_modes(options, tensor, *report.input, start);
    if (start)
      expect_same_rows(start->names.labels, options.start.string(), report.input->labels,
                       options.tensor.string());
    warn_of_negative_values(constraints_of_modes(options.constraints, tensor.order()), tensor);
  }
  note_unkept(options.common, {options.output, options.checkpoint}, "-o, --report or --checkpoint");
  Session const session(options.common.threads, options.common.verbose, options.device_memory);
  report.backend = session.backend();
  double seconds = 0;
  RanksOutcome outcome;
  {
    std::optional<Progress> progress;
    if (is_root) progress.emplace(options.max_iterations, options.time_limit_s, options.common.quiet);
    auto const on_iteration = [&](IterationReport const& it) {
      report.iterations.push_back(it);
      seconds += it.seconds;
      progress->iteration(it.iteration, it.fit, it.delta, it.seconds);
      return interrupt_signal() == 0;
    };
    if (alone) {
      outcome.save   = factor(options, std::move(tensor), std::move(start), report, on_iteration, resumed);
      outcome.signal = interrupt_signal();
    } else {
      outcome = factor_on_ranks(options, input_of(options), std::move(start), report, on_iteration);
    }
  }
  if (is_root)
    return finish(options, report, outcome.save, iterations_done(report, resumed), seconds, outcome.signal);
  return outcome.signal == 0 ? 0 : 128 + outcome.signal;
}

}  // namespace polyad::cli
