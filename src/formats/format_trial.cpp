// SPDX-License-Identifier: BSD-3-Clause
#include "formats/format_trial.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "polyad/core/instances.hpp"

namespace polyad::detail {
namespace {

struct TrialTimes {
  count_t bytes  = 0;
  double build_s = 0;
  std::vector<double> mode_s;  // one for each requested mode
};

template <class Scalar, class Index, class Space>
TrialTimes time_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                       std::string const& name, count_t rank, std::vector<int> const& modes,
                       std::function<void(char const*)> const& progress) {
  using Tensor           = AnyFormat<Scalar, Space>;
  auto const timed_build = [&] {
    // The format that would replace one that does not fit is a candidate of its own.
    return Tensor::build(space, coo,
                         {.rank = rank, .format = name, .no_fallback = true, .duplicates = Duplicates::keep});
  };
  std::optional<Tensor> built(timed_build());
  // A short build is repeated. The first one also pays one-time costs of the process, such as loading a
  // device's kernels.
  constexpr double short_build_s = 0.2;
  if (built->build_seconds() < short_build_s) {
    built.reset();
    built.emplace(timed_build());
  }
  Tensor const& X = *built;
  TrialTimes times{X.storage_bytes(), X.build_seconds(), {}};
  FactorMatrices<Scalar, Space> const factors(space, coo.extents(), rank);
  fill_random(space, factors, 0);
  auto workspace  = X.make_workspace(space, rank);
  count_t longest = 0;
  for (int const n : modes) longest = std::max(longest, coo.extents()[n]);
  auto const V = make_output_matrix<Scalar>(space, "polyad::trial_output", longest, rank);
  for (int const n : modes) {
    auto const output = Kokkos::subview(V, Kokkos::make_pair(count_t(0), coo.extents()[n]), Kokkos::ALL);
    double least      = std::numeric_limits<double>::infinity();
    space.fence("polyad::try_candidate");
    for (int i = 0; i < 3; ++i) {
      Kokkos::Timer const one;
      mttkrp(space, X, factors, n, workspace, FactorMatrix<Scalar, Space>(output));
      space.fence("polyad::try_candidate");
      if (i > 0) least = std::min(least, one.seconds());
      if (progress) progress("trying a format");
    }
    times.mode_s.push_back(least);
  }
  return times;
}

}  // namespace

template <class Scalar, class Index, class Space>
bool try_candidate(Space const& space, CooTensor<Scalar, Index, Space> const& coo, count_t rank,
                   std::vector<int> modes, FormatCandidate& candidate,
                   std::function<void(char const*)> const& progress) {
  bool const all = modes.empty();
  for (int n = 0; all && n < coo.order(); ++n) modes.push_back(n);
  TrialTimes times;
  try {
    times = time_format(space, coo, candidate.name, rank, modes, progress);
  } catch (MemoryError const&) {
    candidate.fits = false;
    return false;
  }
  FormatTimes measured;
  measured.load_s  = candidate.predicted ? candidate.predicted->load_s : 0;
  measured.build_s = times.build_s;
  candidate.bytes  = times.bytes;
  if (all) {
    measured.mode_s = times.mode_s;
  } else {
    double predicted = 0, found = 0;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      predicted += candidate.predicted->mode_s[modes[k]];
      found += times.mode_s[k];
    }
    for (double const seconds : candidate.predicted->mode_s)
      measured.mode_s.push_back(seconds * found / predicted);
  }
  measured.iteration_s = candidate.dense.iteration_s(measured.mode_s);
  candidate.measured   = measured;
  return true;
}

TrialPlan plan_trial(std::vector<FormatCandidate>& candidates, FormatTrial trial) {
  TrialPlan plan;
  if (trial == FormatTrial::none) return plan;
  for (auto& candidate : candidates)
    if (candidate.fits && !candidate.streams && (trial == FormatTrial::all || candidate.predicted))
      plan.candidates.push_back(&candidate);
  if (trial == FormatTrial::all) return plan;
  if (plan.candidates.size() < 2) return {};
  plan.candidates.resize(2);
  FormatCandidate const &a = *plan.candidates[0], &b = *plan.candidates[1];
  auto const& mode_s   = a.predicted->mode_s;
  auto const mode      = std::max_element(mode_s.begin(), mode_s.end()) - mode_s.begin();
  std::size_t const at = mode;
  double const trial_s = a.predicted->load_s + b.predicted->load_s +
                         2 * (a.predicted->build_s + b.predicted->build_s) +
                         3 * (a.predicted->mode_s[at] + b.predicted->mode_s[at]);
  // Close: the error of the prediction may well reverse the order. The trial takes at most a twentieth of the
  // run.
  constexpr double close = 1.5, most_of_run = 0.05;
  if (b.total_s > close * a.total_s || trial_s > most_of_run * a.total_s) return {};
  plan.modes = {static_cast<int>(mode)};
  return plan;
}

#define POLYAD_TRY_CANDIDATE(Scalar, Index)                                                                  \
  template bool try_candidate(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, count_t, \
                              std::vector<int>, FormatCandidate&, std::function<void(char const*)> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_TRY_CANDIDATE);

}  // namespace polyad::detail
