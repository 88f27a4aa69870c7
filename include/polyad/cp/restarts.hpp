// SPDX-License-Identifier: BSD-3-Clause
// cp_als_restarts: several runs of CP-ALS from different random starts, side by side on instances of an
// execution space, so that small tensors fill a device; the best fit wins. ALS finds local optima, and a few
// starts are the usual remedy (Kolda & Bader, SIAM Review 51(3), 2009, section 3.4).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "polyad/core/space_instances.hpp"
#include "polyad/cp/cp_als.hpp"

namespace polyad {

/// How one of the runs ended.
struct RestartSummary {
  std::uint64_t seed;
  double fit;
  int iterations;
  StopReason reason;
};

template <class Scalar, class Space>
struct RestartsResult {
  CpAlsResult<Scalar, Space> best;
  std::size_t best_run = 0;
  std::vector<RestartSummary> runs;  // in the order of the starts
};

/// Instances for that many runs side by side: streams of a device, eight at most, or the host's one instance,
/// whose threads a single run keeps busy.
template <class Space>
std::vector<Space> restart_instances(Space const& space, int runs) {
  return make_instances(space, is_device_space<Space> ? std::clamp(runs, 1, 8) : 1);
}

/// The seed of run k: the first is the one that is given; the others follow it.
inline std::uint64_t restart_seed(std::uint64_t seed, int k) {
  return seed + static_cast<std::uint64_t>(k);
}

/// Runs `count` starts on the instances; each holds a model and a workspace of its own while it runs.
/// `callback(run, CpAlsIteration const&) -> bool` is called after each iteration; false ends all runs.
/// Waits for everything. X must be ready on all instances (fence after building it).
/// \throws as cp_als; UsageError when count < 1 or there are no instances
template <Format F, class Callback>
RestartsResult<typename F::scalar_type, typename F::space_type> cp_als_restarts(
    std::vector<typename F::space_type> const& instances, F const& X, CpAlsOptions const& options, int count,
    Callback&& callback) {
  using Scalar = typename F::scalar_type;
  using Space  = typename F::space_type;
  POLYAD_EXPECTS(count >= 1 && !instances.empty(), count, " starts on ", instances.size(), " instances");
  struct Slot {
    Space space;
    int number = -1;  // of the run
    std::unique_ptr<CpAlsRun<F>> run;
  };
  std::vector<Slot> slots;
  for (auto const& instance : instances) slots.push_back({instance, -1, nullptr});

  RestartsResult<Scalar, Space> result;
  result.runs.resize(static_cast<std::size_t>(count));
  int started      = 0;
  int ended        = 0;
  bool interrupted = false;
  auto const begin = [&](Slot& slot) {
    slot.number = started++;
    FactorMatrices<Scalar, Space> const start(slot.space, X.extents(), options.rank);
    fill_random(slot.space, start, restart_seed(options.seed, slot.number));
    slot.run = std::make_unique<CpAlsRun<F>>(slot.space, X, options, start);
  };
  auto const end = [&](Slot& slot) {
    auto outcome       = slot.run->take_result();
    auto const index   = static_cast<std::size_t>(slot.number);
    result.runs[index] = {restart_seed(options.seed, slot.number), outcome.fit,
                          static_cast<int>(outcome.iterations.size()), outcome.reason};
    // Of equal fits the earlier start wins, whichever ended first.
    bool const better =
        outcome.fit > result.best.fit || (outcome.fit == result.best.fit && index < result.best_run);
    if (ended == 0 || better) {
      result.best     = std::move(outcome);
      result.best_run = index;
    }
    ++ended;
    slot.run.reset();
  };
  while (ended < started || (started < count && !interrupted)) {
    for (auto& slot : slots)
      if (!slot.run && started < count && !interrupted) begin(slot);
    for (auto& slot : slots)
      if (slot.run && slot.run->is_running()) slot.run->launch();
    for (auto& slot : slots) {
      if (!slot.run) continue;
      if (slot.run->is_running())
        slot.run->finish([&](CpAlsIteration const& iteration) {
          interrupted = !callback(slot.number, iteration) || interrupted;
          return !interrupted;
        });
      if (!slot.run->is_running()) end(slot);
    }
  }
  result.runs.resize(static_cast<std::size_t>(started));
  return result;
}

}  // namespace polyad
