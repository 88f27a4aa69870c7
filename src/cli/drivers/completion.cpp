// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/completion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"

namespace polyad::cli {

// Instantiated in completion_f32.cpp and completion_f64.cpp.
template <class Scalar, class Index>
CompletedModel complete_as(TrainOptions const& options, CompletionSets&& sets, Report& report,
                           OnEpoch const& on_epoch, OnSearch const& on_search,
                           std::optional<FastTuckerState>& resumed);
template <class Index>
std::vector<double> predict_as(io::HostFastTucker const& model, io::CoordinateList&& places);

namespace {

/// \throws UsageError when floats are requested but cannot hold the values
void expect_fits_floats(io::CoordinateList const& train, TrainOptions const& options) {
  using Float    = std::numeric_limits<float>;
  double largest = 0;
  for (double const x : train.values) largest = std::max(largest, std::abs(x));
  if (!std::isfinite(largest) || largest == 0 || options.precision != "f32")
    return;  // refused later, or fits
  POLYAD_EXPECTS(largest <= 0.1 * double{Float::max()} && largest >= 10 * double{Float::min()},
                 "values of magnitude ", largest, " do not fit floats: take --precision f64");
}

}  // namespace

CompletedModel complete(TrainOptions const& options, CompletionSets&& sets, Report& report,
                        OnEpoch const& on_epoch, OnSearch const& on_search,
                        std::optional<FastTuckerState>& resumed) {
  expect_fits_floats(sets.train, options);
  return with_types(options.precision, needs_wide_index_on_ranks(sets.train), [&](auto scalar, auto index) {
    return complete_as<decltype(scalar), decltype(index)>(options, std::move(sets), report, on_epoch,
                                                          on_search, resumed);
  });
}

std::vector<double> predict_entries(io::HostFastTucker const& model, io::CoordinateList&& places) {
  return with_index_type(needs_wide_index(places), [&](auto index) {
    return predict_as<typename decltype(index)::type>(model, std::move(places));
  });
}

double predict_by_biases(io::HostFastTucker const& model, io::CoordinateList const& places, std::uint64_t p) {
  double prediction = model.mean;
  for (int n = 0; n < model.order() && !model.biases.empty(); ++n) {
    auto const& bias      = model.biases[n];
    std::uint64_t const i = index_of(places, p, n);
    if (i < bias.size()) prediction += bias[i];
  }
  if (model.time_mode >= 0) {
    std::uint64_t const times = model.extents[model.time_mode];
    std::uint64_t const time  = index_of(places, p, model.time_mode);
    for (int n = 0; n < model.order(); ++n) {
      std::uint64_t const bins = model.bins[n], i = index_of(places, p, n);
      if (bins == 0 || i >= model.extents[n] || time >= times) continue;
      prediction += model.drifts[n][i * bins + time * bins / times];
    }
  }
  return std::min(std::max(prediction, model.lowest), model.highest);
}

PredictionErrors errors_of(io::CoordinateList const& entries, std::vector<double> const& predictions) {
  PredictionErrors report{predictions.size(), 0, 0};
  if (predictions.empty()) return report;
  // Divided by a power of two near the largest of them, so that squares neither overflow nor vanish.
  double largest = 0;
  for (std::size_t p = 0; p < predictions.size(); ++p)
    largest = std::max(largest, std::abs(entries.values[p] - predictions[p]));
  int const exponent = std::isfinite(largest) && largest > 0 ? std::ilogb(largest) : 0;
  for (std::size_t p = 0; p < predictions.size(); ++p) {
    double const e = std::scalbn(entries.values[p] - predictions[p], -exponent);
    report.rmse += e * e;
    report.mae += std::abs(e);
  }
  auto const count = static_cast<double>(predictions.size());
  report.rmse      = std::scalbn(std::sqrt(report.rmse / count), exponent);
  report.mae       = std::scalbn(report.mae / count, exponent);
  return report;
}

}  // namespace polyad::cli
