// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/space_instances.hpp"
#include "polyad/core/instances.hpp"

namespace polyad {

using namespace detail;

template <class Space>
std::vector<Space> restart_instances(Space const& space, int runs) {
  return make_instances(space, instances_side_by_side<Space>(runs));
}

template <class Scalar, class Index, class Space>
RestartsResult<Scalar, Space> cp_als_restarts(std::vector<Space> const& instances,
                                              AnyFormat<Scalar, Index, Space> const& X,
                                              CpAlsOptions const& options, int count,
                                              RestartsCallback const& callback) {
  POLYAD_EXPECTS(count >= 1 && !instances.empty(), count, " starts on ", instances.size(), " instances");
  auto const rank = static_cast<count_t>(checked_rank(options.rank == 0 ? X.rank() : options.rank));
  struct Slot {
    Space space;
    int number = -1;  // of the run
    std::unique_ptr<CpAlsRun<Scalar, Space>> run;
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
    FactorMatrices<Scalar, Space> const start(slot.space, X.extents(), rank);
    fill_random(slot.space, start, restart_seed(options.seed, slot.number));
    slot.run = std::make_unique<CpAlsRun<Scalar, Space>>(slot.space, X, options, start);
  };
  auto const end = [&](Slot& slot) {
    auto outcome     = slot.run->take_result();
    auto const index = static_cast<std::size_t>(slot.number);
    double seconds   = 0;
    for (auto const& iteration : outcome.history) seconds += iteration.seconds;
    result.runs[index] = {restart_seed(options.seed, slot.number), outcome.fit,
                          static_cast<int>(outcome.history.size()), outcome.reason, seconds};
    // If fits are equal, the earlier start wins, whichever ended first.
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
          interrupted = (callback && !callback(slot.number, iteration)) || interrupted;
          return !interrupted;
        });
      if (!slot.run->is_running()) end(slot);
    }
  }
  result.runs.resize(static_cast<std::size_t>(started));
  return result;
}

#define POLYAD_CP_ALS_RESTARTS(Scalar, Index)                                                   \
  template RestartsResult<Scalar, Kokkos::DefaultExecutionSpace> cp_als_restarts(               \
      std::vector<Kokkos::DefaultExecutionSpace> const&,                                        \
      AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, CpAlsOptions const&, int, \
      RestartsCallback const&)
template std::vector<Kokkos::DefaultExecutionSpace> restart_instances(Kokkos::DefaultExecutionSpace const&,
                                                                      int);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CP_ALS_RESTARTS);

}  // namespace polyad
