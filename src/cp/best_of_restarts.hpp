// SPDX-License-Identifier: BSD-3-Clause
// The best of several runs of CP-ALS, and the summary of each. A run that broke down has no model.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"

namespace polyad::detail {

/// The caller's callback, which may be empty. Exceptions of its own end all runs, whatever their type:
/// threw() distinguishes them from the breakdown of a run.
class WatchedCallback {
public:
  explicit WatchedCallback(RestartsCallback const& callback) : m_callback(callback) {}

  [[nodiscard]] bool operator()(int run, CpAlsIteration const& iteration) {
    if (!m_callback) return true;
    m_threw              = true;
    bool const continues = m_callback(run, iteration);
    m_threw              = false;
    return continues;
  }
  [[nodiscard]] bool threw() const { return m_threw; }

private:
  RestartsCallback const& m_callback;
  bool m_threw = false;
};

template <class Scalar, class Space>
class BestOfRestarts {
public:
  BestOfRestarts(std::uint64_t seed, int count) : m_seed(seed) {
    m_result.runs.resize(static_cast<std::size_t>(count));
  }

  /// Run k ended with this result. If fits are equal, the earlier start wins, whichever ended first.
  void add(int k, CpAlsResult<Scalar, Space>&& outcome) {
    auto const index = static_cast<std::size_t>(k);
    double seconds   = 0;
    for (auto const& iteration : outcome.history) seconds += iteration.seconds;
    enter(k, {restart_seed(m_seed, k),
              outcome.fit,
              static_cast<int>(outcome.history.size()),
              outcome.reason,
              seconds,
              {}});
    bool const better = !m_has_best || outcome.fit > m_result.best.fit ||
                        (outcome.fit == m_result.best.fit && index < m_result.best_run);
    if (!better) return;
    m_result.best     = std::move(outcome);
    m_result.best_run = index;
    m_has_best        = true;
  }
  /// Run k broke down in its iteration `iterations` + 1.
  void add_breakdown(int k, int iterations, NumericalError const& error) {
    enter(k, {restart_seed(m_seed, k), -std::numeric_limits<double>::infinity(), iterations,
              StopReason::diverged, 0, error.what()});
  }

  /// The runs that have ended.
  [[nodiscard]] int ended() const { return m_ended; }
  /// After the last run; runs were started in their order. \throws NumericalError when all broke down
  [[nodiscard]] RestartsResult<Scalar, Space> take() {
    m_result.runs.resize(static_cast<std::size_t>(m_ended));
    if (!m_has_best) {
      std::string text = "no start led to a model";
      for (auto const& run : m_result.runs) text += "; seed " + std::to_string(run.seed) + ": " + run.error;
      throw NumericalError(text);
    }
    return std::move(m_result);
  }

private:
  void enter(int k, RestartSummary summary) {
    m_result.runs[static_cast<std::size_t>(k)] = std::move(summary);
    ++m_ended;
  }

  std::uint64_t m_seed;
  RestartsResult<Scalar, Space> m_result;
  int m_ended     = 0;
  bool m_has_best = false;
};

}  // namespace polyad::detail
