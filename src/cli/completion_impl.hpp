// SPDX-License-Identifier: BSD-3-Clause
// complete() and predict_entries() for one scalar and one coordinate type. Each scalar has a file of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "completion.hpp"
#include "device_tensor.hpp"
#include "interrupt.hpp"
#include "machine.hpp"
#include "polyad/fast_tucker/biases.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "survey_list.hpp"

namespace polyad::cli {

template <class Scalar>
io::HostFastTucker to_host_model(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                 ValueRange const& range) {
  io::HostFastTucker host;
  host.rank    = model.rank();
  host.mean    = model.mean;
  host.lowest  = range.lowest;
  host.highest = range.highest;
  for (int n = 0; n < model.order(); ++n) {
    host.extents.push_back(model.extents()[n]);
    host.columns.push_back(model.columns(n));
    host.factors.push_back(to_host<Scalar>(space, model.A(n)));
    host.cores.push_back(to_host<Scalar>(space, model.B(n)));
    if (!model.has_biases()) continue;
    auto const bias = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model.bias(n));
    host.biases.emplace_back(bias.data(), bias.data() + bias.size());
  }
  return host;
}

template <class Scalar>
FastTuckerModel<Scalar, Space> to_device_model(Space const& space, io::HostFastTucker const& host) {
  FastTuckerModel<Scalar, Space> model(space, Extents(std::span<count_t const>(host.extents)), host.columns,
                                       host.rank, !host.biases.empty());
  model.mean = host.mean;
  for (int n = 0; n < model.order(); ++n) {
    auto const m = static_cast<std::size_t>(n);
    from_host<Scalar>(space, host.factors[m], model.A(n));
    from_host<Scalar>(space, host.cores[m], model.B(n));
    if (host.biases.empty()) continue;
    auto const bias = Kokkos::create_mirror_view(model.bias(n));
    std::transform(host.biases[m].begin(), host.biases[m].end(), bias.data(),
                   [](double b) { return static_cast<Scalar>(b); });
    Kokkos::deep_copy(space, model.bias(n), bias);
  }
  space.fence("polyad::to_device_model");
  return model;
}

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
  result.optimizer  = options.optimizer == "als"    ? FastTuckerOptimizer::als
                      : options.optimizer == "adam" ? FastTuckerOptimizer::adam
                                                    : FastTuckerOptimizer::sgd;
  result.max_epochs = options.max_epochs;
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
  AnyFormatOptions format{.rank          = options.rank,
                          .iterations    = static_cast<double>(options.max_epochs),
                          .format        = options.format,
                          .deterministic = options.deterministic,
                          .needs         = needs_of(fast_tucker_options.optimizer)};
  if (options.format == "auto") {
    format.survey  = survey_list(sets.train, options.common.threads);
    format.machine = machine_ceilings(*report.backend, sizeof(Scalar), 0);
  }
  std::vector<count_t> columns(options.columns.begin(), options.columns.end());
  if (columns.size() == 1) columns.assign(sets.train.extents.size(), columns[0]);
  Extents const extents{std::span<count_t const>(sets.train.extents)};
  FastTuckerModel<Scalar, Space> model(space, extents, columns, options.rank, options.biases);
  FastTuckerData<Scalar, Index, Space> const data{
      upload_list<Scalar, Index>(space, std::move(sets.train)),
      upload_list<Scalar, Index>(space, std::move(sets.validation)),
      upload_list<Scalar, Index>(space, std::move(sets.test))};
  if (options.biases) fit_biases(space, data.train, {.damping = options.bias_damping}, model);

  Kokkos::Timer const clock;
  auto const X =
      any_format(space, model.has_biases() ? without_biases(space, data.train, model) : data.train, format);
  space.fence("polyad::build");
  report.format =
      FormatReport{X.chosen(), X.storage_bytes(), clock.seconds(), X.chosen_because(), X.candidates()};
  stop_if_interrupted("building the format");
  fill_start(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), options.seed);
  auto const result = fast_tucker(space, X, data, fast_tucker_options, model,
                                  [&](FastTuckerEpoch const& epoch) { return on_epoch(to_report(epoch)); });
  CompletionReport summary;
  summary.mean           = model.mean;
  summary.kept_iteration = result.kept_epoch;
  summary.reason         = to_string(result.reason);
  if (result.kept_epoch > 0)
    summary.errors = to_report(result.epochs[static_cast<std::size_t>(result.kept_epoch - 1)]).errors;
  report.result = std::move(summary);
  return to_host_model(space, model, fast_tucker_options.range);
}

template <class Index>
std::vector<double> predict_as(io::HostFastTucker const& host, io::CoordinateList&& places) {
  Space const space;
  auto const model = to_device_model<double>(space, host);
  auto const coo   = upload_list<double, Index>(space, std::move(places));
  Kokkos::View<double*, Space::device_type> const predictions("polyad::predictions", coo.nnz());
  predict(space, model, make_intermediates(space, model), coo, {host.lowest, host.highest}, predictions);
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), predictions);
  return {result.data(), result.data() + result.size()};
}

}  // namespace polyad::cli
