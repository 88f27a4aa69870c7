// SPDX-License-Identifier: BSD-3-Clause
// polyad fast-tucker: reads observed entries, fits a FastTucker model and writes it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/drivers/completion.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/note_unkept.hpp"
#include "cli/streams/progress.hpp"
#include "cli/streams/reopenable.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

// Streams of random numbers, different from those of the start (src/fast_tucker/start.cpp).
constexpr std::uint64_t test_stream       = 100;
constexpr std::uint64_t validation_stream = 101;

/// Divides a list of which each rank has a part, as on one rank.
std::pair<io::CoordinateList, io::CoordinateList> split_off(io::CoordinateList const& list, double share,
                                                            std::uint64_t seed, std::uint64_t stream) {
  return io::hold_out(list, share, seed, stream, sums_of_ranks(list.nnz()).before);
}

/// A binary training set may not say what the text counted from of which it was made. A test set in text then
/// has to show its base, or the command says it.
void expect_known_base(TrainOptions const& options, InputReport const& train, InputReport const& test) {
  if (train.knows_base || options.index_base >= 0) return;
  if (!test.is_text || test.base == 0 || !train.labels.empty() || !test.labels.empty()) return;
  throw UsageError(
      fmt::format("{} counts from 0, but {} has no index 0: does it count from 0, too, or from 1, as the "
                  "text of which the "
                  "training set was made? Say so by --index-base",
                  options.tensor.string(), options.test.string()));
}

/// The test set, whose rows are those of the training set. On several ranks each has a part of it; if rows
/// have names, rank 0 has all of it, since it alone knows them.
EntriesForModel read_test(TrainOptions const& options, InputReport const& train) {
  int const base = train.knows_base ? train.base : options.index_base;
  if (ranks().size == 1) {
    auto test = read_for_model({.path = options.test, .duplicates = options.duplicates}, base, train.names(),
                               train.dims, options.common);
    expect_known_base(options, train, test.facts);
    return test;
  }
  Report report;
  EntriesForModel test;
  test.file =
      read_file_on_ranks({.path = options.test, .index_base_of_text = base, .duplicates = options.duplicates},
                         options.common, report);
  test.names           = train.names();
  bool const has_names = !train.labels.empty() || !test.file.labels.empty();
  if (sums_of_ranks(has_names ? 1 : 0).all == 0) {
    expect_known_base(options, train, *report.input);
    return test;
  }
  auto const order = test.file.tensor.extents.size();
  auto whole       = gather_on_rank_0(test.file.tensor);
  if (ranks().rank == 0) {
    test.file.tensor = std::move(whole);
    return match_to_model(std::move(test.file), std::move(*report.input), base, train.names(), train.dims);
  }
  test.file.tensor = {};
  test.file.tensor.extents.assign(order, 0);
  return test;
}

/// On several ranks, a part of each set on each, and all cold entries on rank 0. Settles the mode of time.
CompletionSets read_sets(TrainOptions& options, Report& report) {
  CompletionSets sets;
  std::string const file = options.tensor.string();
  TensorInput const input{
      .path = options.tensor, .index_base_of_text = options.index_base, .duplicates = options.duplicates};
  sets.train = ranks().size > 1 ? read_on_ranks(input, options.common, report)
                                : read_input(input, options.common, report);
  sets.names = report.input->names();
  if (options.index_base >= 0 && report.input->knows_base && !report.input->table &&
      report.input->base != options.index_base)
    throw UsageError(fmt::format("{} says that it counts from {}, but --index-base is {}", file,
                                 report.input->base, options.index_base));
  if (sets.train.order() < 2) throw InputError(file, 0, 0, "has one mode only; FastTucker needs two or more");
  if (options.columns.size() > 1 && options.columns.size() != sets.train.extents.size())
    throw UsageError(
        fmt::format("-j gives {} numbers for {} modes", options.columns.size(), sets.train.order()));
  if (!options.targets.empty() && options.targets.size() != sets.train.extents.size())
    throw UsageError(
        fmt::format("--targets gives {} words for {} modes", options.targets.size(), sets.train.order()));
  auto const order = static_cast<std::size_t>(sets.train.order());
  if (options.time_mode_text != "-1") {
    if (ranks().rank == 0)
      options.bias.time_mode =
          mode_of_text(options.time_mode_text, sets.names.labels, sets.train.order(), "--time-mode");
    // Rank 0 alone knows the names of modes.
    if (ranks().size > 1)
      options.bias.time_mode = static_cast<int>(
          of_all_ranks({static_cast<std::uint64_t>(options.bias.time_mode)}).front().front());
  }
  for (std::size_t const numbers : {options.time_bins.size(), options.time_damping.size()})
    if (numbers > 1 && numbers != order)
      throw UsageError(
          fmt::format("--time-bins and --time-reg take one number or {}, not {}", order, numbers));
  EntriesForModel test;
  if (!options.test.empty()) {
    test = read_test(options, *report.input);
    warn_of_unknown_labels(test, sets.train.extents);
  } else if (options.split > 0) {
    std::tie(sets.train, sets.test) = split_off(sets.train, options.split, options.seed, test_stream);
  }
  if (options.validate > 0)
    std::tie(sets.train, sets.validation) =
        split_off(sets.train, options.validate, options.seed, validation_stream);
  if (!options.test.empty()) {
    auto const first = sums_of_ranks(test.file.tensor.nnz()).before;
    auto extents     = test.file.tensor.extents;
    RowTexts const rows(test.names, std::move(extents), report.input->base);
    bool const allowed  = options.cold_start == ColdStart::bias;
    auto const observed = allowed ? std::vector<std::vector<std::uint8_t>>() : observed_rows(sets.train);
    std::tie(sets.test, sets.cold) = split_off_cold(std::move(test.file.tensor), sets.train.extents, observed,
                                                    rows, options.test.string(), allowed, first);
    if (ranks().size > 1) sets.cold = gather_on_rank_0(sets.cold);
  }
  report.input->nnz = sums_of_ranks(sets.train.nnz()).all;
  if (report.input->nnz == 0) throw InputError(file, 0, 0, "leaves no entry to learn from");
  stop_if_interrupted("reading the entries");
  return sets;
}

/// The learning rates of sgd belong to the scale of the values.
std::string advice_on_rates(TrainOptions const& options, CompletionReport const& result) {
  constexpr double scale_of_ratings = 3;
  auto const biases                 = result.biases.find("train");
  if (!options.optimizer_facts().has_core_rate || biases == result.biases.end() ||
      !(biases->second.rmse > scale_of_ratings))
    return "";
  return fmt::format(
      " (the defaults suit ratings, which are about 1 off mean and biases, and these values are {} off: "
      "divide "
      "both rates by 10 until it learns, or take --optimizer als)",
      error_text(biases->second.rmse));
}

/// Adds the errors of entries outside the training set's extents, predicted from biases alone, to the test
/// errors.
void add_cold_errors(io::HostFastTucker const& model, io::CoordinateList const& cold,
                     CompletionReport& result) {
  std::vector<double> predictions;
  for (std::uint64_t p = 0; p < cold.nnz(); ++p) predictions.push_back(predict_by_biases(model, cold, p));
  result.cold = cold.nnz();
  if (predictions.empty()) return;
  auto const errors = errors_of(cold, predictions);
  for (auto* sets : {&result.errors, &result.biases}) {
    if (sets->empty()) continue;  // no epoch was sound
    auto& test   = (*sets)["test"];
    auto const a = static_cast<double>(test.entries), b = static_cast<double>(errors.entries);
    test.rmse = std::sqrt((a * test.rmse * test.rmse + b * errors.rmse * errors.rmse) / (a + b));
    test.mae  = (a * test.mae + b * errors.mae) / (a + b);
    test.entries += errors.entries;
  }
}

std::string errors_text(ErrorReports const& errors) {
  std::string text;
  for (char const* set : {"train", "validation", "test"})
    if (auto const found = errors.find(set); found != errors.end())
      text += fmt::format("{}{} RMSE {} MAE {}", text.empty() ? "" : ", ", set,
                          error_text(found->second.rmse), error_text(found->second.mae));
  return text;
}

/// The facts of the checkpoint to resume, for the plan of the memory: the library reads it, too. On the first
/// rank; nothing elsewhere.
std::optional<FastTuckerState> read_facts(TrainOptions const& options) {
  if (options.resume.empty() || ranks().rank > 0) return std::nullopt;
  auto state = io::read_fast_tucker_checkpoint(options.resume);
  for (auto* const matrices :
       {&state.factors, &state.cores, &state.intermediates, &state.moments, &state.kept})
    for (auto& matrix : *matrices) matrix = {};
  return state;
}

/// Gives other ranks the shape of the model that the first one resumes, and its epoch.
void share_shape(TrainOptions const& options, std::size_t order, std::optional<FastTuckerState>& state) {
  if (options.resume.empty()) return;
  std::vector<std::uint64_t> shape(order + 2, 0);
  if (state) {
    shape[0] = state->epoch;
    shape[1] = state->rank;
    std::copy_n(state->columns.begin(), std::min(order, state->columns.size()), shape.begin() + 2);
  }
  auto const first = of_all_ranks(shape).front();
  if (state) return;
  state.emplace();
  state->epoch = first[0];
  state->rank  = first[1];
  state->columns.assign(first.begin() + 2, first.end());
}

void summarise(TrainOptions const& options, Report const& report, int last, double seconds) {
  auto const& result  = std::get<CompletionReport>(report.result);
  auto const& backend = *report.backend;
  show("entries  {}: {}, {} to learn from\n", report.input->path, dims_text(report.input->dims),
       report.input->nnz);
  bool const learns = !result.choice || result.choice->learns;
  if (learns) {
    show("model    FastTucker of rank {}, J {}, {}, {}, {} with concurrency {}\n", result.rank,
         fmt::join(result.columns, ","), report.format->name, options.precision, backend.name,
         backend.concurrency);
    if (report.ranks) show("{}\n", ranks_text(*report.ranks, "entries"));
    if (!report.format->chosen_because.empty())
      show("format   {} because {}\n", report.format->name, report.format->chosen_because);
  } else {
    show("model    mean and biases alone: held-out entries show no interaction to learn\n");
  }
  if (result.choice) {
    auto const& choice = *result.choice;
    if (learns)
      show("chosen   -r {} -j {} --targets {} {}{}\n", result.rank, fmt::join(result.columns, ","),
           fmt::join(result.targets, ","), result.regularization,
           result.drift.empty() ? "" : " " + result.drift);
    else if (!result.drift.empty())
      show("chosen   {}\n", result.drift);
    show("held out {} entries: RMSE {}, mean and biases {} ({} candidates in {})\n", choice.biases.entries,
         error_text(choice.model.rmse), error_text(choice.biases.rmse), choice.candidates,
         duration_text(choice.seconds));
  }
  if (result.objective) show("loss     {:.6g} over all cells, with the ridge\n", *result.objective);
  show("errors   {}{}\n", errors_text(result.errors), options.implicit ? " of scores from 1" : "");
  if (options.biases && !options.implicit) show("biases   {}\n", errors_text(result.biases));
  if (learns)
    show("epochs   {}, the model is that of epoch {} ({})\n", last, result.kept_iteration, result.reason);
  show("time     {} to read, {}{} for the epochs\n", duration_text(report.input->read_s),
       learns ? duration_text(report.format->build_s) + " to build, " : std::string(),
       duration_text(seconds));
  for (auto const& file : result.files) show("wrote    {}\n", file);
}

/// Refuses options that several ranks do not support.
void expect_distributed(TrainOptions const& options) {
  char const* const alone = "start polyad without mpirun for them, or leave them out";
  if (!options.optimizer_facts().runs_on_ranks)
    throw UsageError(fmt::format(
        "--optimizer {} works on one rank only so far: take {}, or start polyad without mpirun",
        options.optimizer_name, optimizer_names([](auto const& facts) { return facts.runs_on_ranks; })));
  if (options.duplicates != "keep" && !(options.implicit && options.duplicates == "sum"))
    throw UsageError(fmt::format("--duplicates {} of fast-tucker is for one rank only so far: {}",
                                 options.duplicates, alone));
}

}  // namespace

int run(TrainOptions const& given, Report& report) {
  TrainOptions options = given;
  report.iterates      = true;
  bool const is_root   = ranks().rank == 0;
  expect_usable_device();
  if (ranks().size > 1) {
    expect_distributed(options);
    options.duplicates = "keep";  // the run sums those of implicit feedback once their ranks have them
  }
  if (is_root && !options.output.empty()) io::expect_writable(options.output);
  if (is_root && !options.checkpoint.empty()) io::expect_writable(options.checkpoint);
  finish_files_in_spite_of_signals();  // checkpoints
  std::optional<Reopenable> resumed_file;
  if (is_root) {
    resumed_file.emplace(given.resume);
    options.resume = resumed_file->path();
  }
  auto resumed = read_facts(options);
  std::optional<Session> session;
  auto const start_session = [&] {
    session.emplace(options.common.threads, options.common.verbose, options.device_memory);
  };
  if (ranks().size > 1) start_session();  // ranks exchange what they read
  report.process_bytes = peak_memory_bytes();
  auto sets            = read_sets(options, report);
  share_shape(options, sets.train.extents.size(), resumed);
  auto cold = std::exchange(sets.cold, {});
  if (options.implicit)
    for (double& x : cold.values) x = x > 0 ? 1 : 0;  // the targets, as of all other entries
  note_unkept(options.common, {options.output, options.checkpoint}, "-o, --report or --checkpoint");
  warn_of_cold(cold.nnz());
  if (!session) start_session();
  report.backend = session->backend();
  double seconds = 0;
  CompletedModel model;
  {
    std::optional<Progress> progress;
    if (is_root) progress.emplace(options.max_epochs, options.time_limit_s, options.common.quiet);
    model = complete(
        options, std::move(sets), report,
        [&](IterationReport const& epoch) {
          report.iterations.push_back(epoch);
          seconds += epoch.seconds;
          auto const text =
              epoch.objective ? fmt::format("loss {:.6g}", *epoch.objective) : errors_text(epoch.errors);
          if (progress) progress->iteration(epoch.iteration, text, epoch.seconds);
          return interrupt_signal() == 0;
        },
        resumed);
  }
  int const signal    = ranks().size > 1 ? signal_of_ranks() : interrupt_signal();
  auto& result        = std::get<CompletionReport>(report.result);
  bool const diverged = result.reason == "diverged";
  int const begin     = resumed ? static_cast<int>(resumed->epoch) : 0;
  int const last      = report.iterations.empty() ? begin : report.iterations.back().iteration;
  if (is_root) add_cold_errors(model.small_parts, cold, result);
  finish_files_in_spite_of_signals();
  // A start without any training is not a result.
  if (is_root && !options.output.empty() && !(diverged && result.kept_iteration == 0)) {
    model.save(options.output);
    result.files.insert(result.files.begin(), options.output.string());
  }
  if (is_root && report.format) warn_of_losses(*report.format);
  summarise(options, report, last, seconds);
  if (diverged) {
    report.error = fmt::format(
        "diverged in epoch {}: lower --lr{} or raise --reg{}; {}", last + 1,
        options.optimizer_facts().has_core_rate ? " and --core-lr" : "", advice_on_rates(options, result),
        last > 0 ? fmt::format("the model is that of epoch {}", last) : "nothing was learned");
    if (is_root) say("polyad: {}\n", report.error);
    return static_cast<int>(ExitCode::numerical_breakdown);
  }
  if (signal == 0) return 0;
  if (is_root) say("polyad: interrupted after epoch {}\n", last);
  return 128 + signal;
}

}  // namespace polyad::cli
