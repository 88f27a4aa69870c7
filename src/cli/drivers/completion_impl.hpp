// SPDX-License-Identifier: BSD-3-Clause
// complete() and predict_entries() for one scalar and one coordinate type. Each scalar has a file of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/drivers/drivers.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/standard_streams.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

/// The errors of the sets that have entries.
template <class Errors>
ErrorReports to_reports(Errors const& sets) {
  ErrorReports errors;
  auto const add = [&](char const* name, PredictionErrors const& of_set) {
    if (of_set.entries > 0) errors[name] = of_set;
  };
  add("train", sets.train);
  add("validation", sets.validation);
  add("test", sets.test);
  return errors;
}

inline IterationReport to_report(FastTuckerEpoch const& epoch) {
  IterationReport report;
  report.iteration = epoch.epoch;
  report.seconds   = epoch.seconds;
  report.errors    = to_reports(epoch);
  report.objective = epoch.objective;
  return report;
}

/// Shrinkage or ridge in the syntax of the tool's options.
inline std::string regularization_text(FastTuckerOptions const& options) {
  std::ostringstream text;  // nvcc 13 does not survive fmt's compile-time checks of formats
  text.precision(4);
  if (!draws_rows(options)) {
    text << "--reg " << options.ridge.value_or(usual_ridge)
         << (options.ridge_per_entry ? " --reg-per-entry" : "");
    return text.str();
  }
  auto const shrinkage = options.shrinkage.value_or(Shrinkage{});
  bool const to_one =
      std::find(options.targets.begin(), options.targets.end(), RowTarget::one) != options.targets.end();
  text << "--shrink " << shrinkage.observations << ',' << shrinkage.share;
  if (to_one) text << ',' << shrinkage.to_one;
  return text.str();
}

/// The drift of each mode from the tool's options.
inline std::vector<BiasDrift> drift_of(TrainOptions const& options, int order) {
  std::vector<BiasDrift> drift;
  auto const& bins    = options.time_bins;
  auto const& damping = options.time_damping;
  for (std::size_t n = 0; n < static_cast<std::size_t>(order) && !bins.empty(); ++n) {
    BiasDrift& made = drift.emplace_back();
    // A single number applies to the modes that drift, but not to the time mode.
    bool const is_time = options.bias.time_mode == static_cast<int>(n);
    made.bins          = bins.size() > 1 ? bins[n] : is_time ? 0 : bins[0];
    // That of the mode of time is another number: how drifts fade out.
    if (damping.size() > 1) made.damping = damping[n];
    if (damping.size() == 1 && !is_time) made.damping = damping[0];
  }
  return drift;
}

/// A model's drifts in the syntax of the tool's options, with their damping.
template <class Model>
std::string drift_text(Model const& model, BiasOptions const& options) {
  bool const pools =
      options.time_mode >= 0 && !options.drift.empty() && options.drift[options.time_mode].bins > 0;
  if (model.time_mode < 0 && !pools) return "";
  std::ostringstream bins, damping;
  damping.precision(4);
  for (int n = 0; n < model.order(); ++n) {
    char const* const comma = n > 0 ? "," : "";
    BiasDrift drift;  // nvcc 13 rejects a braced initializer in a conditional expression
    if (!options.drift.empty()) drift = options.drift[n];
    // If the last times have no entries, the model's bins are finer than those of the fit.
    count_t const of_model = model.drift(n).extent(1);
    bins << comma
         << (n == options.time_mode  ? drift.bins
             : options.drift.empty() ? of_model
                                     : std::min<count_t>(of_model, drift.bins));
    damping << comma << drift.damping;
  }
  return "--time-mode " + std::to_string(options.time_mode) + " --time-bins " + bins.str() + " --time-reg " +
         damping.str();
}

/// What predicts the times after the last one with entries. \param observed  as of observed_rows
template <class Model, class Choice>
LaterTimes later_times_of(Model const& model, FastTuckerOptions const& options,
                          std::optional<Choice> const& choice,
                          std::vector<std::vector<std::uint8_t>> const& observed) {
  LaterTimes later;
  int const time = options.bias.time_mode;
  if (time < 0 || observed.empty() || observed[time].empty() || observed[time].back() != 0) return later;
  constexpr int later_rows = 3;  // the bit of FastTuckerChoice::left_to_biases
  bool const is_left = choice && (!choice->learns || (!choice->left_to_biases.empty() &&
                                                      (choice->left_to_biases[time] >> later_rows & 1) != 0));
  // Rows without entries are zero if that is their target.
  bool const are_zero = options.targets.empty() || options.targets[time] == RowTarget::zero;
  auto const& drift   = options.bias.drift;
  later.exist         = true;
  later.interact      = !is_left && !are_zero;
  later.had_drift     = model.time_mode >= 0;
  later.fades         = !drift.empty() && drift[time].damping < BiasDrift{}.damping;
  return later;
}

/// The report of a fit except its errors and its history.
template <class Choice>
CompletionReport report_of(FastTuckerOptions const& options, std::optional<Choice> const& choice) {
  CompletionReport report;
  report.rank = options.rank;
  report.columns.assign(options.columns.begin(), options.columns.end());
  for (auto const target : options.targets)
    report.targets.emplace_back(target == RowTarget::zero  ? "zero"
                                : target == RowTarget::one ? "one"
                                                           : "out");
  report.regularization = regularization_text(options);
  if (choice && !choice->options.update_cores) report.regularization += " --fixed-cores";
  if (choice) {
    ChoiceReport& made = report.choice.emplace();  // nvcc 13 does not assign a braced one to the optional
    made.learns        = choice->learns;
    made.biases        = choice->biases;
    made.model         = choice->model;
    made.candidates    = choice->candidates;
    made.seconds       = choice->seconds;
    made.bias_damping  = choice->options.bias.damping;
    made.ended_early = choice->reason == StopReason::time_limit || choice->reason == StopReason::interrupted;
    made.reason      = to_string(choice->reason);
    for (auto const& of_class : choice->classes)
      made.classes.push_back({of_class.mode, of_class.least, of_class.biases, of_class.model,
                              of_class.learns && choice->learns});
  }
  return report;
}

/// The memory of a run, beginning with the lists of its sets.
/// \param owned  the rows of this rank, if there are several ranks; \param resumed  null: a new run
template <class Scalar, class Index>
MemoryPlan plan_of(TrainOptions const& options, CompletionSets const& sets, FastTuckerOptions const& asked,
                   AnyFormatOptions const& format, FastTuckerState const* resumed,
                   std::optional<OwnedRows> const& owned) {
  Space const space;
  Extents const extents{std::span<count_t const>(sets.train.extents)};
  bool const simulates = options.device_memory.has_value();
  MemoryPlan plan;
  std::vector<MemoryPlan::Held> coordinates;
  count_t left = 0;
  for (auto const* set : {&sets.train, &sets.validation, &sets.test}) left += listed_bytes(*set, simulates);
  for (auto const* set : {&sets.train, &sets.validation, &sets.test}) {
    auto const read = plan.hold("the entries as they were read", left);
    coordinates.push_back(plan.hold("the coordinates of a set", coordinate_bytes(*set, sizeof(Scalar))));
    left -= listed_bytes(*set, simulates);
  }
  if (owned) {
    coordinates.clear();  // plan_fast_tucker accounts for them until they are sent
    std::vector<count_t> const others{sets.validation.nnz(), sets.test.nnz()};
    plan_fast_tucker<Scalar, Index>(plan, space, extents, *owned, others, asked, format, resumed);
  } else {
    plan_fast_tucker<Scalar, Index>(plan, space, extents, sets.train.nnz(), asked, format, resumed);
  }
  return plan;
}

/// The rows that this rank will own, if there are several ranks.
inline std::optional<OwnedRows> owned_rows_of(Communicator<Space> const& world,
                                              io::CoordinateList const& train) {
  if (world.size() == 1) return {};
  Extents const extents{std::span<count_t const>(train.extents)};
  return std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        return owned_rows(world, extents, std::span<Index const>(indices.data(), indices.size()));
      },
      train.indices);
}

/// Whether there is one rank and the training set stays in its host memory.
template <class Scalar, class Index>
bool stays_on_this_host(Space const& space, io::CoordinateList const& train, FastTuckerOptions const& options,
                        AnyFormatOptions const& format) {
  Extents const extents{std::span<count_t const>(train.extents)};
  return ranks().size == 1 && stays_on_host<Scalar, Index>(space, extents, train.nnz(), options, format);
}

/// Reports the memory that a run will need, unless the training set stays in the host memory of one rank: the
/// run then uses whatever device memory is free. If a search may reach a rank R for which there is too
/// little, lowers the largest R that it tries, and says so.
/// \throws MemoryError if the memory is not free, on all ranks if one of them has too little
template <class Scalar, class Index>
void expect_completion_fits(Communicator<Space> const& world, TrainOptions const& options,
                            CompletionSets const& sets, FastTuckerOptions& asked,
                            AnyFormatOptions const& format, FastTuckerState const* resumed, Report& report) {
  constexpr count_t least_rank = 8;
  Space const space;
  expect_host_holds(sets.train, sizeof(Scalar));
  if (stays_on_this_host<Scalar, Index>(space, sets.train, asked, format)) return;
  bool const simulates = options.device_memory.has_value();
  auto const owned     = owned_rows_of(world, sets.train);
  count_t lists = 0, divided = 0;
  for (auto const* set : {&sets.train, &sets.validation, &sets.test}) {
    lists += listed_bytes(*set, simulates);
    bool const was_split = options.splits() || (options.validate > 0 && set != &sets.test);
    if (was_split) divided += listed_bytes(*set, simulates);
  }
  count_t const free   = available_memory(space) + lists;
  auto const plan_with = [&](FastTuckerOptions const& with) {
    return plan_of<Scalar, Index>(options, sets, with, format, resumed, owned);
  };
  auto plan           = plan_with(asked);
  count_t const whole = plan.peak(), most = asked.most_rank;
  if (leaves_rank(asked) && resumed == nullptr)
    while (asked.most_rank > least_rank && !fits_all(plan.peak(), free)) {
      asked.most_rank /= 2;
      plan = plan_with(asked);
    }
  expect_fits_all(plan, free, "the completion", "");
  if (asked.most_rank < most)
    say_text(
        "polyad: the search tries no R above " + std::to_string(asked.most_rank) + ": for " +
        std::to_string(most) +
        (owned ? " the memory of a rank is too small\n"
               : " it would need " + bytes_text(whole) + ", but only " + bytes_text(free) + " are free\n"));
  // While a set was divided, its entries were in memory twice.
  report_expected_memory(report, std::max(plan.peak(), lists + divided));
}

/// Copies the sets to where the run needs them. Frees the lists. Several ranks take their parts from host
/// memory.
template <class Scalar, class Index>
FastTuckerData<Scalar, Index, Space> to_data(Space const& space, CompletionSets&& sets,
                                             FastTuckerOptions const& options,
                                             AnyFormatOptions const& format) {
  FastTuckerData<Scalar, Index, Space> data;
  Extents const extents{std::span<count_t const>(sets.train.extents)};
  if (ranks().size > 1 || stays_on_host<Scalar, Index>(space, extents, sets.train.nnz(), options, format)) {
    DeviceMemoryAccount::HostArrays const on_host;
    data.train_on_host = io::to_coo_tensor<Scalar, Index>(HostOf<Space>(), sets.train);
    sets.train         = {};
  } else {
    data.train = upload_list<Scalar, Index>(space, std::move(sets.train));
  }
  data.validation = upload_list<Scalar, Index>(space, std::move(sets.validation));
  data.test       = upload_list<Scalar, Index>(space, std::move(sets.test));
  return data;
}

/// What is subtracted from all values before they become floats: their mean, if it is so much larger than
/// their deviation that floats would lose digits of what is to be learned; else 0. The same on all ranks.
inline double centre_of_values(io::CoordinateList const& train) {
  constexpr double digits_to_lose = 64;
  auto const& values              = train.values;
  double first                    = 0;
  bool found                      = false;
  for (auto const& rank : doubles_of_all_ranks({values.empty() ? 0.0 : 1.0, values.empty() ? 0 : values[0]}))
    if (rank[0] != 0 && !found) {
      first = rank[1];
      found = true;
    }
  double sum = 0, squares = 0;  // sums of differences from one value, which do not cancel
  for (double const x : values) {
    sum += x - first;
    squares += (x - first) * (x - first);
  }
  double count = 0, sums = 0, all_squares = 0;
  for (auto const& rank : doubles_of_all_ranks({static_cast<double>(values.size()), sum, squares})) {
    count += rank[0];
    sums += rank[1];
    all_squares += rank[2];
  }
  if (count == 0) return 0;
  double const offset    = sums / count;
  double const mean      = first + offset;
  double const deviation = std::sqrt(std::max(0.0, all_squares / count - offset * offset));
  bool const loses       = deviation > 0 && std::abs(mean) > digits_to_lose * deviation;
  return loses && std::isfinite(mean) ? mean : 0;
}

/// Subtracts the centre from all values that become floats, and from the range.
inline void centre_values(double centre, CompletionSets& sets, PredictionRange& range) {
  for (auto* set : {&sets.train, &sets.validation, &sets.test})
    for (double& x : set->values) x -= centre;
  range.lowest -= centre;
  range.highest -= centre;
}

template <class Scalar, class Index>
CompletedModel complete_as(TrainOptions const& options, CompletionTask&& task, Report& report) {
  auto& sets              = task.sets;
  auto const& resumed     = task.resumed;
  auto const world        = make_communicator(options.deterministic, report);
  auto const& space       = world.space();
  int const order         = sets.train.order();
  FastTuckerOptions asked = options;
  asked.bias.drift        = drift_of(options, order);
  double const centre     = sizeof(Scalar) == 4 && asked.biases ? centre_of_values(sets.train) : 0;
  if (centre != 0) centre_values(centre, sets, asked.range);
  AnyFormatOptions format;
  format.format         = options.format;
  format.deterministic  = options.deterministic;
  format.hooks.progress = stop_if_interrupted;
  bool const is_auto    = format.format == "auto" && world.size() == 1;
  if (is_auto && !resumed) {
    format.survey        = survey_list(sets.train, options.common.threads);
    format.hooks.machine = [&](double) { return machine_ceilings(*report.backend, sizeof(Scalar), 0); };
  }
  auto planned = format;
  if (is_auto && resumed) planned.format = resumed->format;
  expect_completion_fits<Scalar, Index>(world, options, sets, asked, planned, resumed ? &*resumed : nullptr,
                                        report);
  auto const observed = observed_rows(sets.train);
  auto const names    = sets.names;
  auto const data     = distribute(world, to_data<Scalar, Index>(space, std::move(sets), asked, planned));
  FastTuckerCallback const tell = [&](FastTuckerEpoch const& epoch) {
    return task.on_epoch(to_report(epoch));
  };
  FastTuckerSearchCallback const tell_search = [&](FastTuckerSearch const& search) {
    return task.on_search({search.candidates, search.biases, search.model, search.seconds});
  };
  auto result = fast_tucker(space, data, asked, tell, format, tell_search);
  if (centre != 0) {
    result.model.mean += centre;
    result.model.range = {options.range.lowest, options.range.highest};
  }
  report_ranks(report, result.imbalance);

  auto const chosen = result.choice ? result.choice->options : with_shape(asked, order);
  auto summary      = report_of(chosen, result.choice);
  if (summary.choice && leaves_rank(asked) && !resumed) summary.choice->most_rank = asked.most_rank;
  if (!asked.implicit) summary.biases = to_reports(result.biases);
  if (!result.history.empty()) summary.objective = result.history.back().objective;
  summary.mean        = result.model.mean;
  summary.drift       = drift_text(result.model, chosen.bias);
  summary.later_times = later_times_of(result.model, chosen, result.choice, observed);
  if (result.choice && !result.choice->learns) {
    summary.errors = summary.biases;
    summary.reason = "mean and biases";
    summary.rank   = 1;
    summary.columns.assign(static_cast<std::size_t>(order), 1);
  } else {
    report.format          = result.format;
    summary.kept_iteration = result.kept_epoch;
    summary.reason         = to_string(result.reason);
    summary.errors         = to_reports(result.errors);
  }
  if (result.checkpoints > 0) summary.files.push_back(options.checkpoint.string());
  report.result = std::move(summary);
  if (world.rank() != 0) return {};
  return {io::without_factors(space, result.model),
          [space, model = result.model, names, observed, fit = row_fit(chosen, order)](
              std::filesystem::path const& path) { save(space, model, path, names, observed, fit); }};
}

}  // namespace polyad::cli
