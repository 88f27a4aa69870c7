// SPDX-License-Identifier: BSD-3-Clause
// SearchWatch ends a search at its time limit or by its callback. It is called between the updates of modes.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/stop_reason.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// Thrown from within a search, and caught by it. It is not an error.
struct SearchStopped {
  StopReason reason;
};

class SearchWatch {
public:
  SearchWatch(double time_limit_s, FastTuckerSearchCallback const& callback)
      : m_time_limit_s(time_limit_s), m_callback(callback) {}

  FastTuckerSearch state = {0, {}, {}, 0};

  [[nodiscard]] double seconds() const { return m_clock.seconds(); }

  /// Waits for `space`. \throws SearchStopped
  template <class Space>
  void check(Space const& space) {
    space.fence("polyad::search_watch");
    state.seconds = m_clock.seconds();
    if (m_callback && !m_callback(state)) throw SearchStopped{StopReason::interrupted};
    if (state.seconds >= m_time_limit_s) throw SearchStopped{StopReason::time_limit};
  }

private:
  double m_time_limit_s;
  FastTuckerSearchCallback const& m_callback;
  Kokkos::Timer m_clock;
};

}  // namespace polyad::detail
