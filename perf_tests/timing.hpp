// SPDX-License-Identifier: BSD-3-Clause
// The way everything is timed: one warm-up, then repetitions with a fence on both sides of each; the median
// is the result, and its spread is reported with it. The warm-up's time is kept: on a
// device it includes the loading of kernels that the process has not launched before.
#pragma once

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

namespace polyad::perf {

/// Seconds of the repetitions, ascending.
struct Samples {
  std::vector<double> seconds;
  double first = 0;  // time of the warm-up

  [[nodiscard]] double median() const {
    std::size_t const half = seconds.size() / 2;
    return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  }
};

template <class Space, class Work>
Samples measure(Space const& space, int repetitions, Work&& work) {
  Samples samples;
  for (int i = 0; i <= repetitions; ++i) {
    space.fence("polyad::perf");
    Kokkos::Timer const clock;
    work();
    space.fence("polyad::perf");
    if (i == 0)
      samples.first = clock.seconds();
    else
      samples.seconds.push_back(clock.seconds());
  }
  std::sort(samples.seconds.begin(), samples.seconds.end());
  return samples;
}

/// Hands the median to Google Benchmark as the time of its one iteration, and the spread as counters.
inline void report(benchmark::State& state, Samples const& samples) {
  state.SetIterationTime(samples.median());
  state.counters["min_ms"]  = samples.seconds.front() * 1e3;
  state.counters["max_ms"]  = samples.seconds.back() * 1e3;
  state.counters["samples"] = static_cast<double>(samples.seconds.size());
}

}  // namespace polyad::perf
