// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/completion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/entries.hpp"

#include "polyad/core/per_mode.hpp"

namespace polyad::cli {

// Instantiated in completion_f32.cpp and completion_f64.cpp.
template <class Scalar, class Index>
io::HostFastTucker complete_as(TrainOptions const& options, CompletionSets&& sets, Report& report,
                               OnEpoch const& on_epoch);
template <class Index>
std::vector<double> predict_as(io::HostFastTucker const& model, io::CoordinateList&& places);

io::HostFastTucker complete(TrainOptions const& options, CompletionSets&& sets, Report& report,
                            OnEpoch const& on_epoch) {
  return with_index_type(sets.train, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32")
      return complete_as<float, Index>(options, std::move(sets), report, on_epoch);
    return complete_as<double, Index>(options, std::move(sets), report, on_epoch);
  });
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
