// SPDX-License-Identifier: BSD-3-Clause
// polyad cpd: reads a tensor, factors it by CP-ALS, and writes the model.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/progress.hpp"
#include "cli/streams/run_files.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/model_defect.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

std::optional<io::HostKtensor> read_start(CpdOptions const& options) {
  if (options.start.empty()) return std::nullopt;
  io::HostKtensor start = io::read_model(options.start);
  if (start.rank() != options.rank)
    refuse_file(options.start, "holds a model of rank {}, not {}", start.rank(), options.rank);
  return start;
}

/// Multiplies the weights into the factors whose updates leave their scale free.
void share_weights(io::HostKtensor& start, TypedConstraints const& constraints) {
  // If the first update computes the first factor anew, these weights matter only without iterations.
  // Penalties depend on how they are divided among the modes.
  std::size_t const rank = start.rank();
  auto const shares      = shares_of_weights(constraints, start.factors.size());
  double const root      = 1 / static_cast<double>(shares.size());
  for (auto const& share : shares) {
    auto& factor = start.factors[share.mode];
    for (std::size_t e = 0; e < factor.size(); ++e) {
      double const weight = start.weights[e % rank];
      factor[e] *= shares.size() == 1
                       ? weight
                       : share.factor * std::copysign(std::pow(std::abs(weight), root),
                                                      share.mode == shares.front().mode ? weight : 1);
    }
  }
  std::fill(start.weights.begin(), start.weights.end(), 1.0);
}

/// Looks the names of modes up. On several ranks all call it; the first one knows the names.
/// \throws UsageError for a name that no mode has; InputError for a tensor of one mode, or a start of other
/// extents
void settle_modes(CpdOptions& options, io::CoordinateList const& tensor, InputReport const& input,
                  std::optional<io::HostKtensor>& start) {
  if (tensor.order() < 2) refuse_file(options.tensor, "has one mode only; CP needs two or more");
  settle_modes(options.constraints, [&](std::string const& option, std::string const& name) {
    return mode_on_ranks(name, input.labels, tensor.order(), option);
  });
  if (!start) return;
  expect_extents(options.start, start->extents, tensor.extents);
  share_weights(*start, options.constraints);
}

/// The format of the checkpoint to resume, which must be one of ours; empty without one.
std::string read_resumed_format(CpdOptions const& options) {
  if (options.resume.empty() || ranks().rank > 0) return {};
  auto format = io::read_checkpoint_format(options.resume);
  bool known  = format != "auto";
  try {
    expect_format(format);
  } catch (UsageError const&) {
    known = false;
  }
  if (known) return format;
  static_cast<void>(io::read_checkpoint(options.resume));  // says if it is damaged
  throw InputError(options.resume.string(), 0, 0, "is a checkpoint of the unknown format '" + format + "'");
}

void summarise_constraints(CpdReport const& result) {
  if (!result.kkt_violation) return;
  if (std::isfinite(result.objective))
    show("bounds   objective {:.6g},", result.objective);
  else
    show("bounds   objective beyond the range of doubles,");
  if (!std::isnan(*result.kkt_violation)) show(" KKT violation {:.2g},", *result.kkt_violation);
  show(" zeros");
  for (std::size_t n = 0; n < result.zeros.size(); ++n)
    show("{} {:.1f} %", n == 0 ? "" : ",", 100 * result.zeros[n]);
  show(" of the modes' entries\n");
  if (!result.zero_components.empty())
    say("polyad: warning: {} of {} components are zero: {}\n", result.zero_components.size(),
        result.weights.size(), fmt::join(result.zero_components, ", "));
}

void summarise(CpdOptions const& options, Report const& report) {
  auto const& result  = std::get<CpdReport>(report.result);
  auto const& backend = *report.backend;
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show_stored_rows(*report.input);
  show("model    CP of rank {}, {}, {}, {} with concurrency {}\n", options.rank, report.format->chosen,
       options.precision, backend.name, backend.concurrency);
  if (report.ranks)
    show("ranks    {} as {}{}, by {}; largest over mean: nonzeros {:.2f}, rows {:.2f}, bytes {:.2f}\n",
         report.ranks->count, fmt::join(report.ranks->grid, " x "),
         report.ranks->labelled ? " of rows in random order" : "", report.ranks->exchange,
         report.ranks->nonzeros, report.ranks->rows, report.ranks->bytes);
  if (!report.format->because.empty())
    show("format   {} because {}\n", report.format->chosen, report.format->because);
  show("fit      {} after {} iterations ({})\n", fit_text(result.fit, result.fit_error), result.iterations,
       to_string(result.reason));
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
       duration_text(report.format->build_s),
       duration_text(many ? result.restarts_s : report.iteration_seconds()),
       many ? "all starts" : "the iterations");
  for (auto const& file : result.files) show("wrote    {}\n", file);
}

/// A model without negative numbers does not reach negative values. All ranks call it.
void warn_of_negative_values(std::vector<Constraints> const& constraints, io::CoordinateList const& tensor) {
  if (constraints.empty() || !std::ranges::all_of(constraints, [](auto const& c) { return c.lower >= 0; }))
    return;
  double largest = 0, negative = 0, all = 0;
  for (double const value : tensor.values) largest = std::max(largest, std::abs(value));
  for (auto const& rank : doubles_of_all_ranks({largest})) largest = std::max(largest, rank[0]);
  for (double const value : tensor.values) {
    double const share = value / largest;  // whose square neither overflows nor vanishes
    all += share * share;
    if (value < 0) negative += share * share;
  }
  auto const parts = doubles_of_all_ranks({negative, all});
  negative = all = 0;
  for (auto const& rank : parts) {
    negative += rank[0];
    all += rank[1];
  }
  if (negative > 0)
    say("polyad: warning: all modes are nonnegative, and negative values have {:.3g} % of the tensor's "
        "squared norm: the model cannot reach them\n",
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
    say("polyad: warning: {}. Try {}another --seed, or --init {}, and scale the values to a size near 1\n",
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

/// Refuses options that this number of ranks does not support.
void expect_ranks_suit(CpdOptions const& options) {
  if (ranks().size == 1 && std::ranges::any_of(options.grid, [](int p) { return p > 1; }))
    refuse("--grid {} is for several ranks: start a build with MPI by mpirun", fmt::join(options.grid, ","));
  if (options.init == "nvecs") expect_one_rank("--init nvecs works on");
  if (options.tune) expect_one_rank("--tune works on");
}

TensorInput input_of(CpdOptions const& options) {
  auto input       = input_to_sum(options);
  input.drop_zeros = options.drop_zeros;
  return input;
}

/// Keeps the results, and says what they are. \returns the exit status
int finish(CpdOptions const& options, Report& report, SaveModel const& save) {
  auto& result     = std::get<CpdReport>(report.result);
  int const signal = signal_of_ranks();
  finish_files_in_spite_of_signals();
  if (!options.output.empty() && ranks().rank == 0) save(options.output);
  for (auto const& file : {options.output, options.checkpoint})
    if (!file.empty()) result.files.push_back(file.string());
  summarise(options, report);
  warn_of_defect(options, result);
  if (signal == 0) return 0;
  say("polyad: interrupted after iteration {}\n", result.iterations);
  return 128 + signal;
}

}  // namespace

/// On several ranks all read, and the first prints and writes.
int run(CpdOptions const& given, Report& report) {
  CpdOptions options = given;
  report.iterates    = true;
  expect_format(options.format);
  expect_ranks_suit(options);
  finish_files_in_spite_of_signals();  // checkpoints
  Reopenable const resumed_file(options.resume);
  auto const resumed_format            = read_resumed_format(options);
  std::optional<io::HostKtensor> start = read_start(options);
  RunSession session(options.common, report, options.device_memory);
  report.process_bytes = peak_memory_bytes();
  auto tensor          = read_file_on_ranks(input_of(options), options.common, report).tensor;
  settle_modes(options, tensor, *report.input, start);
  if (start)
    expect_same_rows(start->names.labels, options.start.string(), report.input->labels,
                     options.tensor.string());
  warn_of_negative_values(constraints_of_modes(options.constraints, tensor.order()), tensor);
  note_unkept(options.common);
  session.begin();
  SaveModel save;
  {
    Progress progress(options.max_iterations, options.time_limit_s, options.common.quiet);
    auto const on_iteration = [&](IterationReport const& it) { return progress.iteration(it, report); };
    save = factor(options, std::move(tensor), std::move(start), report, on_iteration, resumed_format);
  }
  return finish(options, report, save);
}

}  // namespace polyad::cli
