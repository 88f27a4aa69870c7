// SPDX-License-Identifier: BSD-3-Clause
// Named phases of a driver. Each phase is a Kokkos profiling region, so Kokkos Tools show it. If timing is
// requested, the phase also fences its instance on both sides and adds up wall-clock seconds. Timing is off
// by default because its fences keep the launches of one phase from overlapping the next.
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <map>
#include <string>
#include <utility>

namespace polyad::detail {

class PhaseTimer {
public:
  explicit PhaseTimer(bool timed = false) : m_timed(timed) {}

  /// Runs `work()` as the phase `name` on `space`.
  template <class Space, class Work>
  void operator()(Space const& space, std::string const& name, Work&& work) {
    Kokkos::Profiling::ScopedRegion const region("polyad::" + name);  // left when `work` throws, too
    if (m_timed) space.fence("polyad::phase_timer");
    Kokkos::Timer const clock;
    std::forward<Work>(work)();
    if (m_timed) {
      space.fence("polyad::phase_timer");
      m_seconds[name] += clock.seconds();
    }
  }

  /// Seconds per phase since the last reset; empty unless timed.
  [[nodiscard]] std::map<std::string, double> const& seconds() const { return m_seconds; }

  void reset() { m_seconds.clear(); }

private:
  bool m_timed;
  std::map<std::string, double> m_seconds;
};

}  // namespace polyad::detail
