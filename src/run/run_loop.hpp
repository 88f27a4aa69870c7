// SPDX-License-Identifier: BSD-3-Clause
// RunLoop: the loop of an iterative driver. It has the history, the limits, the callback, the agreement among
// ranks, and the checkpoints. A driver is a class with
//
//   Iteration, Result                     what it reports of an iteration, and returns in the end
//   void launch()                         enqueues an iteration and does not wait
//   Ended<Iteration> finish()             waits for it
//   int iterations() const                that have ended, those before a checkpoint included
//   void save(path)                       writes its state between two iterations. All ranks call it together
//   optional<StopReason> load(path)       the reverse; why the run had ended, if it may not continue
//   Result take_result(bool is_start)     once, in the end; is_start: no iteration of this run has ended
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/run_limits.hpp"
#include "polyad/core/stop_reason.hpp"
#include "run/run_options.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// An iteration that has ended, and whether the driver itself would end the run and why: the same on all
/// ranks.
template <class Iteration>
struct Ended {
  Iteration numbers;
  std::optional<StopReason> met;
};

template <class Driver>
class RunLoop {
public:
  using Iteration = typename Driver::Iteration;
  using Result    = typename Driver::Result;
  using Callback  = std::function<bool(Iteration const&)>;

  /// Makes the driver of `args`, and loads the checkpoint to resume. \throws what the driver throws
  template <class... Args>
  RunLoop(RunOptions const& options, std::shared_ptr<RunRanks const> ranks, Args&&... args)
      : m_options(options),
        m_driver(std::forward<Args>(args)...),
        m_limits(options.max_iterations, options.time_limit_s,
                 [ranks = std::move(ranks)](bool here) { return ranks->any(here); }) {
    std::optional<StopReason> ended;
    if (!options.resume.empty()) ended = m_driver.load(options.resume);
    m_reason  = ended.value_or(m_reason);
    m_running = !ended && m_driver.iterations() < options.max_iterations;
  }

  [[nodiscard]] bool is_running() const { return m_running; }
  [[nodiscard]] Driver& driver() { return m_driver; }
  void launch() { m_driver.launch(); }
  /// Waits for the iteration, reports it to `callback`, decides whether the run continues, and writes the
  /// checkpoint. A callback that returns false ends the run on all ranks.
  void finish(Callback const& callback) {
    auto ended = m_driver.finish();
    if (ended.met == StopReason::diverged) {  // its numbers do not count
      m_reason  = StopReason::diverged;
      m_running = false;
      return;
    }
    m_history.push_back(std::move(ended.numbers));
    bool const is_interrupted = callback && !callback(m_history.back());
    if (auto const reason = m_limits.after(m_driver.iterations(), is_interrupted, ended.met)) {
      m_reason  = *reason;
      m_running = false;
    }
    bool const is_due = !m_running || m_driver.iterations() % m_options.checkpoint_every == 0;
    if (is_due && !m_options.checkpoint.empty()) m_driver.save(m_options.checkpoint);
  }
  /// Runs until the end.
  [[nodiscard]] Result run(Callback const& callback) {
    while (is_running()) {
      launch();
      finish(callback);
    }
    return take_result();
  }
  /// Call it once, after the last iteration.
  [[nodiscard]] Result take_result() {
    Result result  = m_driver.take_result(m_history.empty());
    result.history = std::move(m_history);
    result.reason  = m_reason;
    return result;
  }

private:
  RunOptions m_options;
  Driver m_driver;
  RunLimits m_limits;  // from the first iteration on
  std::vector<Iteration> m_history;
  StopReason m_reason = StopReason::max_iterations;
  bool m_running      = false;
};

}  // namespace polyad::detail
