// SPDX-License-Identifier: BSD-3-Clause
// complete() and predict_entries() for one scalar and one coordinate type. Each scalar has a file of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "cli/drivers/completion.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/survey_list.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

inline ErrorReport to_report(PredictionErrors const& errors) {
  return {errors.entries, errors.rmse, errors.mae};
}

inline IterationReport to_report(FastTuckerEpoch const& epoch) {
  IterationReport report;
  report.iteration = epoch.epoch;
  report.seconds   = epoch.seconds;
  for (auto const& [set, errors] : {std::pair("train", epoch.train),
                                    std::pair("validation", epoch.validation), std::pair("test", epoch.test)})
    if (errors.entries > 0) report.errors[set] = to_report(errors);
  return report;
}

inline FastTuckerOptions library_options(TrainOptions const& options) {
  FastTuckerOptions result;
  result.rank = options.rank;
  result.columns.assign(options.columns.begin(), options.columns.end());
  result.biases       = options.biases;
  result.bias.damping = options.bias_damping;
  result.seed         = options.seed;
  result.optimizer    = options.optimizer == "als"    ? FastTuckerOptimizer::als
                        : options.optimizer == "adam" ? FastTuckerOptimizer::adam
                                                      : FastTuckerOptimizer::sgd;
  result.max_epochs   = options.max_epochs;
  if (!options.shrink.empty()) result.shrinkage.observations = options.shrink[0];
  if (options.shrink.size() > 1) result.shrinkage.share = options.shrink[1];
  result.ridge           = options.ridge;
  result.ridge_per_entry = options.ridge_per_entry;
  result.core_ridge      = options.core_ridge;
  result.update_cores    = !options.fixed_cores;
  result.adam.step       = options.learning_rate;
  result.sgd             = {options.learning_rate,
                            options.core_learning_rate,
                            options.decay,
                            {options.intermediates, options.share_fibers}};
  result.patience        = options.patience;
  result.time_limit_s    = options.time_limit_s;
  if (!options.clip.empty()) result.range = {options.clip[0], options.clip[1]};
  return result;
}

template <class Scalar, class Index>
io::HostFastTucker complete_as(TrainOptions const& options, CompletionSets&& sets, Report& report,
                               OnEpoch const& on_epoch) {
  Space const space;
  auto const fast_tucker_options = library_options(options);
  AnyFormatOptions format        = format_options(fast_tucker_options);
  format.format                  = options.format;
  format.deterministic           = options.deterministic;
  if (options.format == "auto") {
    format.survey        = survey_list(sets.train, options.common.threads);
    format.hooks.machine = [&](double) { return machine_ceilings(*report.backend, sizeof(Scalar), 0); };
  }
  std::vector<count_t> columns(options.columns.begin(), options.columns.end());
  if (columns.size() == 1) columns.assign(sets.train.extents.size(), columns[0]);
  Extents const extents{std::span<count_t const>(sets.train.extents)};
  FastTuckerModel<Scalar, Space> model(space, extents, columns, options.rank, options.biases);
  FastTuckerData<Scalar, Index, Space> data{upload_list<Scalar, Index>(space, std::move(sets.train)),
                                            upload_list<Scalar, Index>(space, std::move(sets.validation)),
                                            upload_list<Scalar, Index>(space, std::move(sets.test))};
  if (options.biases) fit_biases(space, data.train, {.damping = options.bias_damping}, model);

  auto const X = any_format(space, without_biases(space, data.train, model), format);
  report.format =
      FormatReport{X.chosen(), X.storage_bytes(), X.build_seconds(), X.chosen_because(), X.candidates()};
  data.format = X;
  stop_if_interrupted("building the format");
  fill_start(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), options.seed);
  auto const result = fast_tucker(space, data, fast_tucker_options, model,
                                  [&](FastTuckerEpoch const& epoch) { return on_epoch(to_report(epoch)); });
  CompletionReport summary;
  summary.mean           = model.mean;
  summary.kept_iteration = result.kept_epoch;
  summary.reason         = to_string(result.reason);
  if (result.kept_epoch > 0)
    summary.errors = to_report(result.history[static_cast<std::size_t>(result.kept_epoch - 1)]).errors;
  report.result = std::move(summary);
  return io::to_host_model(space, result.model);
}

template <class Index>
std::vector<double> predict_as(io::HostFastTucker const& host, io::CoordinateList&& places) {
  Space const space;
  auto const predictions =
      predict(space, io::to_model<double>(space, host), upload_list<double, Index>(space, std::move(places)));
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), predictions);
  return {result.data(), result.data() + result.size()};
}

}  // namespace polyad::cli
