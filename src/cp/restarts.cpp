// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <memory>
#include <utility>
#include <vector>

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

namespace {

/// Runs side by side, one on each instance. Whenever one ends, the next start takes its place.
template <class Scalar, class Index, class Space>
class RunsSideBySide {
public:
  using Format = AnyFormat<Scalar, Index, Space>;

  RunsSideBySide(std::vector<Space> const& instances, Format const& X, CpAlsOptions const& options, int count,
                 RestartsCallback const& callback)
      : m_tensor(X),
        m_options(options),
        m_rank(static_cast<count_t>(checked_rank(options.rank == 0 ? X.rank() : options.rank))),
        m_count(count),
        m_callback(callback),
        m_best(options.seed, count) {
    for (auto const& instance : instances) m_slots.push_back({instance, -1, nullptr});
  }

  [[nodiscard]] RestartsResult<Scalar, Space> run() {
    while (m_best.ended() < m_started || may_start()) {
      for (auto& slot : m_slots)
        if (!slot.run && may_start()) start(slot);
      for (auto& slot : m_slots)
        if (slot.run && slot.run->is_running()) slot.run->launch();
      for (auto& slot : m_slots)
        if (slot.run) finish(slot);
    }
    return m_best.take();
  }

private:
  struct Slot {
    Space space;
    int number = -1;  // of the run
    std::unique_ptr<CpAlsRun<Scalar, Space>> run;
  };

  [[nodiscard]] bool may_start() const { return m_started < m_count && !m_interrupted; }
  void start(Slot& slot) {
    slot.number = m_started++;
    FactorMatrices<Scalar, Space> factors(slot.space, m_tensor.extents(), m_rank);
    CpAlsOptions options = m_options;
    options.seed         = restart_seed(m_options.seed, slot.number);
    options.scale_start  = true;
    random_start(slot.space, factors, options);
    slot.run = std::make_unique<CpAlsRun<Scalar, Space>>(slot.space, m_tensor, options, std::move(factors));
  }
  /// Ends an iteration of a slot's run. If the run ends with it, the slot becomes free.
  void finish(Slot& slot) {
    try {
      if (slot.run->is_running())
        slot.run->finish([&](CpAlsIteration const& iteration) { return continues(slot.number, iteration); });
      if (slot.run->is_running()) return;
      m_best.add(slot.number, slot.run->take_result());
    } catch (NumericalError const& error) {
      if (m_callback.threw()) throw;
      slot.space.fence("polyad::cp_als_restarts");  // before its memory is freed
      m_best.add_breakdown(slot.number, slot.run->iterations(), error);
    }
    slot.run.reset();
  }
  bool continues(int number, CpAlsIteration const& iteration) {
    m_interrupted = !m_callback(number, iteration) || m_interrupted;
    return !m_interrupted;
  }

  Format const& m_tensor;
  CpAlsOptions const& m_options;
  count_t m_rank;
  int m_count;
  WatchedCallback m_callback;
  BestOfRestarts<Scalar, Space> m_best;
  std::vector<Slot> m_slots;
  int m_started      = 0;
  bool m_interrupted = false;
};

}  // namespace

template <class Scalar, class Index, class Space>
RestartsResult<Scalar, Space> cp_als_restarts(std::vector<Space> const& instances,
                                              AnyFormat<Scalar, Index, Space> const& X,
                                              CpAlsOptions const& options, int count,
                                              RestartsCallback const& callback) {
  POLYAD_EXPECTS(count >= 1 && !instances.empty(), count, " starts on ", instances.size(), " instances");
  expect_stored_rows(options.rows, X.extents());
  expect_run_limits(options.max_iterations, options.tolerance, options.time_limit_s);
  return RunsSideBySide<Scalar, Index, Space>(instances, X, options, count, callback).run();
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
