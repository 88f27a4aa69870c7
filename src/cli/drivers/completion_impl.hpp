// SPDX-License-Identifier: BSD-3-Clause
// complete() and predict_entries() for one scalar and one coordinate type, over the formats that have what
// the optimisers need. Each scalar has a file of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "cli/drivers/completion.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/survey_list.hpp"
#include "polyad/fast_tucker/biases.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/blco/alto.hpp"
#include "polyad/formats/blco/blco.hpp"
#include "polyad/formats/coo/coo_tiny_vec.hpp"
#include "polyad/formats/coo/sorted.hpp"
#include "polyad/formats/csf/b_csf.hpp"
#include "polyad/formats/csf/hb_csf.hpp"
#include "polyad/formats/csf/leaf_trees.hpp"

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

/// Trains on one format.
template <class F>
void complete_on(Space const& space, TrainOptions const& options,
                 typename F::options_type const& format_options,
                 FastTuckerData<typename F::scalar_type, typename F::index_type, Space> const& data,
                 FastTuckerModel<typename F::scalar_type, Space> const& model, FormatReport const& chosen,
                 Report& report, OnEpoch const& on_epoch) {
  auto const values = model.has_biases() ? without_biases(space, data.train, model) : data.train;
  Kokkos::Timer const clock;
  F const X = F::build(space, values, format_options);
  space.fence("polyad::build");
  report.format =
      FormatReport{F::name, X.storage_bytes(), clock.seconds(), chosen.chosen_because, chosen.candidates};
  if constexpr (requires { X.permuted(); })
    if (X.permuted()) report.format->chosen_because = stored_as_permutations;
  stop_if_interrupted("building the format");
  fill_start(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), options.seed);
  auto const result = fast_tucker(space, X, data, library_options(options), model,
                                  [&](FastTuckerEpoch const& epoch) { return on_epoch(to_report(epoch)); });
  CompletionReport summary;
  summary.mean           = model.mean;
  summary.kept_iteration = result.kept_epoch;
  summary.reason         = to_string(result.reason);
  if (result.kept_epoch > 0)
    summary.errors = to_report(result.epochs[static_cast<std::size_t>(result.kept_epoch - 1)]).errors;
  report.result = std::move(summary);
}

template <class Scalar, class Index>
io::HostFastTucker complete_as(TrainOptions const& options, CompletionSets&& sets, Report& report,
                               OnEpoch const& on_epoch) {
  Space const space;
  using Sorted_ = Sorted<Scalar, Index, Space>;
  Extents const extents{std::span<count_t const>(sets.train.extents)};
  FormatWish wish{.iterations    = static_cast<double>(options.max_epochs),
                  .deterministic = options.deterministic,
                  .residual      = true,
                  .may_stream    = false,
                  .what          = "sweeps of all modes"};
  std::vector<FormatCandidate> looked_at;
  bool const chooses = options.format == "auto" && options.optimizer != "sgd";
  if (chooses) {
    wish.bytes         = available_memory(space);
    auto const survey  = survey_list(sets.train, options.common.threads);
    auto const machine = machine_ceilings(*report.backend, sizeof(Scalar), 0);
    looked_at          = candidates({survey, machine, options.rank, sizeof(Scalar), sizeof(Index)}, wish);
  }
  std::vector<count_t> columns(options.columns.begin(), options.columns.end());
  if (columns.size() == 1) columns.assign(sets.train.extents.size(), columns[0]);
  FastTuckerModel<Scalar, Space> model(space, extents, columns, options.rank, options.biases);
  FastTuckerData<Scalar, Index, Space> const data{
      upload_list<Scalar, Index>(space, std::move(sets.train)),
      upload_list<Scalar, Index>(space, std::move(sets.validation)),
      upload_list<Scalar, Index>(space, std::move(sets.test))};
  if (options.biases) fit_biases(space, data.train, {.damping = options.bias_damping}, model);
  auto const complete_with = [&]<class F>(std::type_identity<F>, FormatReport const& chosen,
                                          typename F::options_type const& format = {}) {
    complete_on<F>(space, options, format, {data.train, data.validation, data.test}, model, chosen, report,
                   on_epoch);
  };
  auto const run_as = [&](FormatReport const& chosen) {
    if (chosen.name == "coo-tiny-vec") {
      complete_with(std::type_identity<CooTinyVec<Scalar, Index, Space>>(), chosen);
    } else if (options.optimizer == "sgd") {
      complete_with(std::type_identity<LeafTrees<Scalar, Index, Space>>(), chosen);
    } else if (chosen.name == "coo-permuted") {
      complete_with(std::type_identity<CooPermuted<Scalar, Index, Space>>(), chosen);
    } else if (chosen.name == "b-csf") {
      complete_with(std::type_identity<BCsf<Scalar, Index, Space>>(), chosen);
    } else if (chosen.name == "hb-csf") {
      complete_with(std::type_identity<HbCsf<Scalar, Index, Space>>(), chosen);
    } else if (chosen.name == "blco") {
      complete_with(std::type_identity<Blco<Scalar, Index, Space>>(), chosen);
    } else if (chosen.name == "alto") {
      AltoOptions format;
      format.deterministic = options.deterministic;
      complete_with(std::type_identity<Alto<Scalar, Index, Space>>(), chosen, format);
    } else {
      // Least squares want the rows in one piece.
      SortedOptions format{.deterministic = options.deterministic};
      if (options.optimizer == "als") format.block_rows = 0;
      if (options.format == "auto") format.storage = SortedOptions::Storage::copies;
      complete_on<Sorted_>(space, options, format, data, model, chosen, report, on_epoch);
    }
  };
  if (chooses)
    with_best_candidate(
        looked_at, wish,
        [&](FormatCandidate const& best, std::string const& because) {
          run_as({.name = best.name, .chosen_because = because, .candidates = looked_at});
        },
        [&] { return !report.format; });  // once it is built, the run itself needs more
  else
    run_as({.name = options.format});
  return to_host_model(space, model, library_options(options).range);
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
