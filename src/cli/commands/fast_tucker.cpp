// SPDX-License-Identifier: BSD-3-Clause
// polyad fast-tucker: reads observed entries, fits a FastTucker model and writes it.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/completion.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/progress.hpp"
#include "cli/run/session.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

// Streams of random numbers, different from those of the start (tensor/fast_tucker_model.hpp).
constexpr std::uint64_t test_stream       = 100;
constexpr std::uint64_t validation_stream = 101;

/// The base of the test file's indices. It is the base of the training set's text, since a file of few
/// entries may not show its own. A binary training set always counts from 0 and says nothing of the base of
/// texts.
int base_of_test(TrainOptions const& options, InputReport const& train) {
  for (auto const binary :
       {io::Dialect::pten, io::Dialect::npz, io::Dialect::genten_binary, io::Dialect::splatt_binary})
    if (train.dialect == io::to_string(binary)) return options.index_base;
  return train.base;
}

CompletionSets read_sets(TrainOptions const& options, Report& report) {
  CompletionSets sets;
  std::string const file = options.tensor.string();
  sets.train             = read_input(options.tensor, options.index_base, options.common, report);
  if (sets.train.order() < 2) throw InputError(file, 0, 0, "has one mode only; FastTucker needs two or more");
  if (options.columns.size() > 1 && options.columns.size() != sets.train.extents.size())
    throw UsageError(
        fmt::format("-j gives {} numbers for {} modes", options.columns.size(), sets.train.order()));
  if (!options.targets.empty() && options.targets.size() != sets.train.extents.size())
    throw UsageError(
        fmt::format("--targets gives {} words for {} modes", options.targets.size(), sets.train.order()));
  auto const order = static_cast<std::size_t>(sets.train.order());
  if (options.time_mode >= sets.train.order())
    throw UsageError(
        fmt::format("--time-mode {} of a tensor of {} modes, which count from 0", options.time_mode, order));
  for (std::size_t const numbers : {options.time_bins.size(), options.time_damping.size()})
    if (numbers > 1 && numbers != order)
      throw UsageError(
          fmt::format("--time-bins and --time-reg take one number or {}, not {}", order, numbers));
  if (!options.test.empty()) {
    auto test = io::read_tensor(options.test, {.index_base = base_of_test(options, *report.input),
                                               .threads    = options.common.threads});
    std::tie(sets.test, sets.cold) =
        split_off_cold(std::move(test.tensor), sets.train.extents, options.test.string(),
                       options.cold_start == ColdStart::bias);
  } else if (options.split > 0) {
    std::tie(sets.train, sets.test) = io::hold_out(sets.train, options.split, options.seed, test_stream);
  }
  if (options.validate > 0)
    std::tie(sets.train, sets.validation) =
        io::hold_out(sets.train, options.validate, options.seed, validation_stream);
  if (sets.train.nnz() == 0) throw InputError(file, 0, 0, "leaves no entry to learn from");
  report.input->nnz = sets.train.nnz();
  stop_if_interrupted("reading the entries");
  return sets;
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

/// Reads a checkpoint, whose format must be one that the optimiser accepts.
FastTuckerState read_state(TrainOptions const& options) {
  auto state       = io::read_fast_tucker_checkpoint(options.resume);
  auto const needs = options.optimizer == "als"    ? Capability::row_least_squares
                     : options.optimizer == "adam" ? Capability::residual_sweep
                                                   : Capability::sgd;
  bool known       = state.format != "auto";
  try {
    expect_format(state.format);
    known = known && format_offers(state.format, needs);
  } catch (UsageError const&) {
    known = false;
  }
  if (!known)
    throw InputError(
        options.resume.string(), 0, 0,
        "is a checkpoint of the format '" + state.format + "', which this optimizer does not take");
  return state;
}

void summarise(TrainOptions const& options, Report const& report, int last, double seconds) {
  auto const& result  = std::get<CompletionReport>(report.result);
  auto const& backend = *report.backend;
  fmt::print("entries  {}: {}, {} to learn from\n", report.input->path, dims_text(report.input->dims),
             report.input->nnz);
  bool const learns = !result.choice || result.choice->learns;
  if (learns) {
    fmt::print("model    FastTucker of rank {}, J {}, {}, {}, {} with concurrency {}\n", result.rank,
               fmt::join(result.columns, ","), report.format->name, options.precision, backend.name,
               backend.concurrency);
    if (!report.format->chosen_because.empty())
      fmt::print("format   {} because {}\n", report.format->name, report.format->chosen_because);
  } else {
    fmt::print("model    mean and biases alone: held-out entries show no interaction to learn\n");
  }
  if (result.choice) {
    auto const& choice = *result.choice;
    if (learns)
      fmt::print("chosen   -r {} -j {} --targets {} {}{}\n", result.rank, fmt::join(result.columns, ","),
                 fmt::join(result.targets, ","), result.regularization,
                 result.drift.empty() ? "" : " " + result.drift);
    else if (!result.drift.empty())
      fmt::print("chosen   {}\n", result.drift);
    fmt::print("held out {} entries: RMSE {}, mean and biases {} ({} candidates in {})\n",
               choice.biases.entries, error_text(choice.model.rmse), error_text(choice.biases.rmse),
               choice.candidates, duration_text(choice.seconds));
  }
  fmt::print("errors   {}\n", errors_text(result.errors));
  if (options.biases) fmt::print("biases   {}\n", errors_text(result.biases));
  if (learns)
    fmt::print("epochs   {}, the model is that of epoch {} ({})\n", last, result.kept_iteration,
               result.reason);
  fmt::print("time     {} to read, {}{} for the epochs\n", duration_text(report.input->read_s),
             learns ? duration_text(report.format->build_s) + " to build, " : std::string(),
             duration_text(seconds));
  for (auto const& file : result.files) fmt::print("wrote    {}\n", file);
}

}  // namespace

int run(TrainOptions const& options, Report& report) {
  expect_usable_device();
  if (!options.output.empty()) io::expect_writable(options.output);
  if (!options.checkpoint.empty()) io::expect_writable(options.checkpoint);
  TrainCheckpoints checkpoints;
  if (!options.resume.empty()) checkpoints.resume = read_state(options);
  bool saved = false;
  if (!options.checkpoint.empty())
    checkpoints.save = [&](FastTuckerState const& state) {
      io::write_fast_tucker_checkpoint(options.checkpoint, state);
      saved = true;
    };
  auto sets       = read_sets(options, report);
  auto const cold = std::exchange(sets.cold, {});
  warn_of_cold(cold.nnz());

  Session const session(options.common.threads, options.common.verbose, options.device_memory);
  report.backend = session.backend();
  double seconds = 0;
  io::HostFastTucker model;
  {
    Progress progress(options.max_epochs, options.time_limit_s);
    model = complete(
        options, std::move(sets), report,
        [&](IterationReport const& epoch) {
          report.iterations.push_back(epoch);
          seconds += epoch.seconds;
          progress.iteration(epoch.iteration, errors_text(epoch.errors), epoch.seconds);
          return interrupt_signal() == 0;
        },
        checkpoints);
  }
  auto& result        = std::get<CompletionReport>(report.result);
  bool const diverged = result.reason == "diverged";
  int const begin     = checkpoints.resume ? static_cast<int>(checkpoints.resume->epoch) : 0;
  int const last      = report.iterations.empty() ? begin : report.iterations.back().iteration;
  add_cold_errors(model, cold, result);
  // A start without any training is not a result.
  if (!options.output.empty() && !(diverged && result.kept_iteration == 0)) {
    io::write_fast_tucker(options.output, model, options.precision == "f32");
    result.files.push_back(options.output.string());
  }
  if (saved) result.files.push_back(options.checkpoint.string());
  summarise(options, report, last, seconds);
  if (diverged) {
    report.error =
        fmt::format("diverged in epoch {}: lower --lr{} or raise --reg; {}", last + 1,
                    options.optimizer == "sgd" ? " and --core-lr" : "",
                    last > 0 ? fmt::format("the model is that of epoch {}", last) : "nothing was learned");
    fmt::print(stderr, "polyad: {}\n", report.error);
    return static_cast<int>(ExitCode::numerical_breakdown);
  }
  if (interrupt_signal() == 0) return 0;
  fmt::print(stderr, "polyad: interrupted after epoch {}\n", last);
  return 128 + interrupt_signal();
}

}  // namespace polyad::cli
