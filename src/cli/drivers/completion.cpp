// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/completion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/entries.hpp"

#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"

namespace polyad::cli {

// Instantiated in completion_f32.cpp and completion_f64.cpp.
template <class Scalar, class Index>
io::HostFastTucker complete_as(TrainOptions const& options, CompletionSets&& sets, Report& report,
                               OnEpoch const& on_epoch);
template <class Index>
std::vector<double> predict_as(io::HostFastTucker const& model, io::CoordinateList&& places);

namespace {

/// The power of two that brings the largest value near one, where values are so large or small that products
/// of them leave the range of floats; otherwise one.
/// \throws UsageError where floats are asked for that cannot hold the values
double scale_of(io::CoordinateList const& train, TrainOptions const& options) {
  using Float    = std::numeric_limits<float>;
  double largest = 0;
  for (double const x : train.values) largest = std::max(largest, std::abs(x));
  if (!std::isfinite(largest) || largest == 0) return 1;  // what is not finite is refused later
  bool const fits_floats = largest <= 0.1 * double{Float::max()} && largest >= 10 * double{Float::min()};
  POLYAD_EXPECTS(options.precision != "f32" || fits_floats, "values of magnitude ", largest,
                 " do not fit floats: take --precision f64");
  int const exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  // A ridge that the user gives is on the scale of his values.
  return std::abs(exponent) < 30 || !options.shrinks() ? 1 : std::ldexp(1.0, -exponent);
}

void scale(ErrorReports& errors, double factor) {
  for (auto& [set, error] : errors) {
    error.rmse *= factor;
    error.mae *= factor;
  }
}

void scale(std::vector<double>& numbers, double factor) {
  for (double& x : numbers) x *= factor;
}

/// Back from values that were multiplied by 1 / factor.
void scale(CompletionReport& report, double factor) {
  report.mean *= factor;
  scale(report.errors, factor);
  scale(report.biases, factor);
  if (!report.choice) return;
  for (auto* errors : {&report.choice->biases, &report.choice->model}) {
    errors->rmse *= factor;
    errors->mae *= factor;
  }
}

io::HostFastTucker complete_with_type(TrainOptions const& options, CompletionSets&& sets, Report& report,
                                      OnEpoch const& on_epoch) {
  return with_index_type(sets.train, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32")
      return complete_as<float, Index>(options, std::move(sets), report, on_epoch);
    return complete_as<double, Index>(options, std::move(sets), report, on_epoch);
  });
}

}  // namespace

io::HostFastTucker complete(TrainOptions const& options, CompletionSets&& sets, Report& report,
                            OnEpoch const& on_epoch) {
  double const factor = scale_of(sets.train, options);
  if (factor == 1) return complete_with_type(options, std::move(sets), report, on_epoch);
  auto scaled = options;
  scale(scaled.clip, factor);
  for (auto* list : {&sets.train, &sets.validation, &sets.test})
    for (double& x : list->values) x *= factor;
  auto model = complete_with_type(scaled, std::move(sets), report, [&](IterationReport epoch) {
    scale(epoch.errors, 1 / factor);
    return on_epoch(epoch);
  });
  scale(std::get<CompletionReport>(report.result), 1 / factor);
  model.mean /= factor;
  model.lowest /= factor;
  model.highest /= factor;
  for (auto& bias : model.biases) scale(bias, 1 / factor);
  for (auto& drift : model.drifts) scale(drift, 1 / factor);
  scale(model.factors[0], 1 / factor);
  return model;
}

std::vector<double> predict_entries(io::HostFastTucker const& model, io::CoordinateList&& places) {
  return with_index_type(places, [&](auto index) {
    return predict_as<typename decltype(index)::type>(model, std::move(places));
  });
}

double predict_by_biases(io::HostFastTucker const& model, io::CoordinateList const& places, std::uint64_t p) {
  double prediction = model.mean;
  for (int n = 0; n < model.order() && !model.biases.empty(); ++n) {
    auto const& bias      = of_mode(model.biases, n);
    std::uint64_t const i = index_of(places, p, n);
    if (i < bias.size()) prediction += bias[i];
  }
  if (model.time_mode >= 0) {
    std::uint64_t const times = of_mode(model.extents, model.time_mode);
    std::uint64_t const time  = index_of(places, p, model.time_mode);
    for (int n = 0; n < model.order(); ++n) {
      std::uint64_t const bins = of_mode(model.bins, n), i = index_of(places, p, n);
      if (bins == 0 || i >= of_mode(model.extents, n)) continue;
      std::uint64_t const bin = time < times ? time * bins / times : bins - 1;
      prediction += of_mode(model.drifts, n)[i * bins + bin];
    }
  }
  return std::min(std::max(prediction, model.lowest), model.highest);
}

ErrorReport errors_of(io::CoordinateList const& entries, std::vector<double> const& predictions) {
  ErrorReport report{predictions.size(), 0, 0};
  if (predictions.empty()) return report;
  for (std::size_t p = 0; p < predictions.size(); ++p) {
    double const e = entries.values[p] - predictions[p];
    report.rmse += e * e;
    report.mae += std::abs(e);
  }
  report.rmse = std::sqrt(report.rmse / static_cast<double>(predictions.size()));
  report.mae /= static_cast<double>(predictions.size());
  return report;
}

}  // namespace polyad::cli
