// SPDX-License-Identifier: BSD-3-Clause
// How a launch divides its work on a device and on a host. A device has many threads, in teams. A host's team
// is one thread, and its core overlaps loads by itself. The kernels pass the numbers that were measured to be
// best; these functions adapt them to the machine.
#pragma once

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// `league` teams, on a device of `team` threads with `vector` lanes each, on a host of one thread.
template <class Space>
[[nodiscard]] constexpr LaunchShape launch_shape(count_t league, int team, int vector) {
  return is_device_space<Space> ? LaunchShape{league, team, vector} : LaunchShape{league, 1, 1};
}

/// The same with one thread for each of `items` items.
template <class Space>
[[nodiscard]] constexpr LaunchShape thread_for_each(count_t items, int team, int vector) {
  LaunchShape const shape = launch_shape<Space>(0, team, vector);
  return {ceil_div(items, shape.team), shape.team, shape.vector};
}

/// Nonzeros whose rows a lane gathers at the same time, so that their latencies overlap. On a device the
/// registers limit the number; on a host it is one.
template <class Space>
[[nodiscard]] constexpr int rows_in_flight(int on_device) {
  return is_device_space<Space> ? on_device : 1;
}

/// Width of the narrowest block that a kernel is compiled for, if rows may be short. A device's lanes gain
/// nothing from narrower blocks. A host's thread would waste time on columns beyond the row.
template <class Space>
[[nodiscard]] constexpr int narrowest_block(int on_device, int on_host) {
  return is_device_space<Space> ? on_device : on_host;
}

/// Items of a thread: few on a device, so that there are many threads.
template <class Space>
[[nodiscard]] constexpr count_t items_per_thread(count_t on_device, count_t on_host) {
  return is_device_space<Space> ? on_device : on_host;
}

}  // namespace polyad::detail
