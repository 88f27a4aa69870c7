// SPDX-License-Identifier: BSD-3-Clause
// Restarts: runs of a driver from several starts; the best fit wins.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/core/stop_reason.hpp"
#include "run/run_loop.hpp"

namespace polyad::detail {

/// Runs concurrently, one run on each instance. Whenever one ends, the next start takes its place. Several
/// ranks have only one instance. They have the same fits, and so the same best run.
template <class Driver, class Space>
class Restarts {
public:
  using Run       = RunLoop<Driver>;
  using Iteration = typename Run::Iteration;
  using Result    = typename Run::Result;
  using MakeRun   = std::function<std::unique_ptr<Run>(Space const&, std::uint64_t seed)>;

  /// \param seed  that of the first start; the others have the seeds after it
  Restarts(std::vector<Space> const& instances, std::uint64_t seed, int count, MakeRun make)
      : m_make(std::move(make)), m_seed(seed), m_count(count) {
    for (auto const& instance : instances) m_slots.push_back({instance, 0, nullptr});
  }

  /// \param callback  if it returns false or throws any exception, all runs end
  /// \throws NumericalError when all runs broke down, naming each
  [[nodiscard]] Result run(typename Run::Callback const& callback) {
    while (m_ended < m_started || may_start()) {
      for (auto& slot : m_slots)
        if (!slot.run && may_start()) start(slot);
      for (auto& slot : m_slots)
        if (slot.run && slot.run->is_running()) slot.run->launch();
      for (auto& slot : m_slots)
        if (slot.run) finish(slot, callback);
    }
    if (!m_best) {
      std::string text = "no start led to a model";
      for (auto const& run : m_runs) text += "; seed " + std::to_string(run.seed) + ": " + run.error;
      throw NumericalError(text);
    }
    for (auto& iteration : m_best->history) iteration.start = static_cast<int>(m_best->best_restart);
    m_best->restarts = std::move(m_runs);
    return std::move(*m_best);
  }

private:
  struct Slot {
    Space space;
    std::size_t number;  // counts the starts from 0
    std::unique_ptr<Run> run;
  };

  [[nodiscard]] bool may_start() const {
    return m_started < static_cast<std::size_t>(m_count) && !m_interrupted;
  }
  void start(Slot& slot) {
    slot.number = m_started++;
    m_runs.push_back({m_seed + slot.number, 0, 0, StopReason::max_iterations});
    slot.run = m_make(slot.space, m_runs.back().seed);
  }
  /// Ends an iteration of a slot's run. If the run ends with it, the slot becomes free.
  void finish(Slot& slot, typename Run::Callback const& callback) {
    bool callback_threw = false;
    auto const report   = [&](Iteration iteration) {
      iteration.start = static_cast<int>(slot.number);
      if (!callback) return true;
      callback_threw = true;
      m_interrupted  = !callback(iteration) || m_interrupted;
      callback_threw = false;
      return !m_interrupted;
    };
    try {
      if (slot.run->is_running()) slot.run->finish(report);
      if (slot.run->is_running()) return;
      keep_better(slot.number, slot.run->take_result());
    } catch (NumericalError const& error) {
      if (callback_threw) throw;
      slot.space.fence("polyad::restarts");  // before its memory is freed
      auto& summary      = m_runs[slot.number];
      summary.fit        = -std::numeric_limits<double>::infinity();
      summary.iterations = slot.run->driver().iterations();
      summary.reason     = StopReason::diverged;
      summary.error      = error.what();
    }
    ++m_ended;
    slot.run.reset();
  }
  /// If fits are equal, the earlier start wins, whichever ended first.
  void keep_better(std::size_t number, Result&& result) {
    auto& summary      = m_runs[number];
    summary.fit        = result.fit;
    summary.iterations = static_cast<int>(result.history.size());
    summary.reason     = result.reason;
    for (auto const& iteration : result.history) summary.seconds += iteration.seconds;
    m_interrupted = m_interrupted || result.reason == StopReason::interrupted;
    bool const better =
        !m_best || result.fit > m_best->fit || (result.fit == m_best->fit && number < m_best->best_restart);
    if (!better) return;
    m_best               = std::move(result);
    m_best->best_restart = number;
  }

  MakeRun m_make;
  std::uint64_t m_seed;
  int m_count;
  std::vector<Slot> m_slots;
  std::vector<RestartSummary> m_runs;
  std::optional<Result> m_best;
  std::size_t m_started = 0;
  std::size_t m_ended   = 0;
  bool m_interrupted    = false;
};

}  // namespace polyad::detail
