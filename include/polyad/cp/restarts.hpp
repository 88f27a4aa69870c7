// SPDX-License-Identifier: BSD-3-Clause
// cp_als_restarts: several runs of CP-ALS from different random starts, side by side on instances of an
// execution space, so that small tensors fill a device; the best fit wins. ALS finds local optima, and a few
// starts are the usual remedy (Kolda & Bader, SIAM Review 51(3), 2009, section 3.4).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <functional>
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

/// Called after each iteration of each run; false ends all runs.
using RestartsCallback = std::function<bool(int run, CpAlsIteration const&)>;

/// Runs `count` starts on the instances; each holds a model and a workspace of its own while it runs.
/// Waits for everything. X must be ready on all instances (fence after building it).
/// \throws as cp_als; UsageError when count < 1 or there are no instances
template <class Scalar, class Index, class Space>
RestartsResult<Scalar, Space> cp_als_restarts(std::vector<Space> const& instances,
                                              AnyFormat<Scalar, Index, Space> const& X,
                                              CpAlsOptions const& options, int count,
                                              RestartsCallback const& callback = {});

/// The same of a tensor in any format of one's own, or of the library's by its class.
template <Format F>
RestartsResult<typename F::scalar_type, typename F::space_type> cp_als_restarts(
    std::vector<typename F::space_type> const& instances, F const& X, CpAlsOptions const& options, int count,
    RestartsCallback const& callback = {}) {
  return cp_als_restarts(
      instances, AnyFormat<typename F::scalar_type, typename F::index_type, typename F::space_type>(X),
      options, count, callback);
}

}  // namespace polyad
