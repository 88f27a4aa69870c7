// SPDX-License-Identifier: BSD-3-Clause
// Machine parameters used by kernels. Each is defined only here.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/core/spaces.hpp"

namespace polyad {

/// GPU threads in a team. On an H200, 64 are as fast, 256 up to 12 % slower (docs/developer/decisions.md).
inline constexpr int device_team_threads = 128;

/// Bytes of scratch memory at level 0 that a team of a device may use. Kokkos offers 48 KiB. It reserves 8
/// bytes per thread, for at most 256 threads, and a little more.
inline constexpr count_t device_team_scratch = 45 * 1024;

/// The same on any space. On a host Kokkos determines the number.
template <class Space>
[[nodiscard]] count_t team_scratch() {
  return is_device_space<Space> ? device_team_scratch : Kokkos::TeamPolicy<Space>::scratch_size_max(0);
}

/// The number of threads in a device's team: together, their lanes are `gpu_threads`. A host's team is one
/// thread.
template <class Space>
[[nodiscard]] constexpr int team_threads(int lanes, int gpu_threads = device_team_threads) {
  return is_device_space<Space> ? gpu_threads / lanes : 1;
}

/// Multiprocessors of a device, or the threads of a host.
template <class Space>
[[nodiscard]] count_t multiprocessors(Space const& space) {
  if constexpr (is_device_space<Space>)
    return device_multiprocessors(space);
  else
    return std::max(1, space.concurrency());
}

}  // namespace polyad
