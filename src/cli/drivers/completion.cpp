// SPDX-License-Identifier: BSD-3-Clause
// complete() and choose_by_ranking(), over both scalars and both coordinate types.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "cli/drivers/drivers.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/split.hpp"

namespace polyad::cli {

// Instantiated in completion_f32.cpp and completion_f64.cpp.
template <class Scalar, class Index>
CompletedModel complete_as(TrainOptions const& options, CompletionTask&& task, Report& report);

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

RankingChoice to_ranking_choice(std::vector<ImplicitCandidate> const& candidates) {
  if (candidates.empty()) return {};
  std::size_t best = 0;
  for (std::size_t c = 1; c < candidates.size(); ++c)
    if (candidates[c].ndcg.value > candidates[best].ndcg.value) best = c;
  auto const& of = candidates.at(best);
  return {of.alpha,
          of.ridge,
          of.rank,
          of.ndcg.value,
          of.ndcg.error,
          of.ndcg.users,
          static_cast<int>(candidates.size())};
}

template <class Scalar, class Index>
ImplicitChoice choose_as(TrainOptions const& options, io::Split&& parts,
                         ImplicitSearchCallback const& callback) {
  auto const world = make_communicator(options.deterministic);
  auto const kept  = upload_list<Scalar, Index>(world.space(), std::move(parts.kept));
  auto const held  = upload_list<Scalar, Index>(world.space(), std::move(parts.held));
  return choose_implicit(world, kept, held, options, false, {}, callback);
}

}  // namespace

CompletedModel complete(TrainOptions const& options, CompletionTask&& task, Report& report) {
  expect_fits_floats(task.sets.train, options);
  bool const is_wide = needs_wide_index_on_ranks(task.sets.train);
  return with_types(options.precision, is_wide, [&](auto scalar, auto index) {
    return complete_as<decltype(scalar), decltype(index)>(options, std::move(task), report);
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

RankingChoice choose_by_ranking(TrainOptions& options, io::CoordinateList const& train, bool sums,
                                OnRankingCandidate const& on_candidate) {
  bool const is_wide = needs_wide_index_on_ranks(train);
  bool const is_part = ranks().size > 1;
  io::CoordinateList rows;
  if (is_part) rows = whole_rows(train, 0);
  if (sums) io::merge_duplicates(rows, io::Duplicates::sum);
  auto parts = io::split(
      is_part ? rows : train,
      {.rule = io::SplitRule::last_and_share, .mode = 0, .one_of_ties = true, .seed = options.seed});
  rows                                  = {};
  ImplicitSearchCallback const callback = [&](std::vector<ImplicitCandidate> const& candidates) {
    return on_candidate(to_ranking_choice(candidates));
  };
  auto const choice    = with_types(options.precision, is_wide, [&](auto scalar, auto index) {
    return choose_as<decltype(scalar), decltype(index)>(options, std::move(parts), callback);
  });
  auto result          = to_ranking_choice(choice.candidates);
  result.seconds       = choice.seconds;
  result.reason        = to_string(choice.reason);
  result.popular_ndcg  = choice.popular.value;
  result.popular_error = choice.popular.error;
  options.implicit     = choice.options.implicit;
  options.ridge        = choice.options.ridge;
  options.rank         = choice.options.rank;
  options.time_limit_s = time_left(options.time_limit_s, choice.seconds);
  return result;
}

}  // namespace polyad::cli
