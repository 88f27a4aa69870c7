// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <memory>
#include <utility>

#include "core/run_limits.hpp"
#include "core/space_instances.hpp"
#include "cp/best_of_restarts.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/tensor/compact.hpp"

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

  expect_stored_rows(options.rows, X.extents());
  expect_run_limits(options.max_iterations, options.tolerance, options.time_limit_s);
  BestOfRestarts<Scalar, Space> best(options.seed, count);
  int started      = 0;
  bool interrupted = false;
  auto const begin = [&](Slot& slot) {
    slot.number = started++;
    FactorMatrices<Scalar, Space> start(slot.space, X.extents(), rank);
    fill_random(slot.space, start, options.rows, restart_seed(options.seed, slot.number));
    slot.run = std::make_unique<CpAlsRun<Scalar, Space>>(slot.space, X, options, std::move(start));
  };
  WatchedCallback watched(callback);
  auto const continues = [&](int number, CpAlsIteration const& iteration) {
    interrupted = !watched(number, iteration) || interrupted;
    return !interrupted;
  };
  while (best.ended() < started || (started < count && !interrupted)) {
    for (auto& slot : slots)
      if (!slot.run && started < count && !interrupted) begin(slot);
    for (auto& slot : slots)
      if (slot.run && slot.run->is_running()) slot.run->launch();
    for (auto& slot : slots) {
      if (!slot.run) continue;
      try {
        if (slot.run->is_running())
          slot.run->finish(
              [&](CpAlsIteration const& iteration) { return continues(slot.number, iteration); });
        if (slot.run->is_running()) continue;
        best.add(slot.number, slot.run->take_result());
      } catch (NumericalError const& error) {
        if (watched.threw()) throw;
        slot.space.fence("polyad::cp_als_restarts");  // before its memory is freed
        best.add_breakdown(slot.number, slot.run->iterations(), error);
      }
      slot.run.reset();
    }
  }
  return best.take();
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
