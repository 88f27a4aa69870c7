// SPDX-License-Identifier: BSD-3-Clause
// Several instances of one execution space, whose work may overlap, and the order between them.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "polyad/core/spaces.hpp"

namespace polyad::detail {

/// Refuses streams of a device whose scratch memory does not fit. Kokkos would end the process, for it frees
/// what it has not made. A host has no streams.
/// \throws MemoryError
void expect_room_for_streams(Kokkos::DefaultExecutionSpace const& space, int count);

/// `count` streams of a device; on a host copies of its one instance, whose threads a single kernel keeps
/// busy.
/// \throws UsageError when count < 1; MemoryError when a device has no room for their scratch memory
template <class Space>
std::vector<Space> make_instances(Space const& space, int count) {
  POLYAD_EXPECTS(count >= 1, count, " instances of an execution space");
  if constexpr (is_device_space<Space>) {
    expect_room_for_streams(space, count);
    return Kokkos::Experimental::partition_space(space, std::vector<double>(count, 1.0));
  } else {
    return std::vector<Space>(count, space);
  }
}

/// How many of `wanted` instances work side by side: up to eight streams of a device, one on a host.
template <class Space>
[[nodiscard]] constexpr int instances_side_by_side(int wanted) {
  return is_device_space<Space> ? std::clamp(wanted, 1, 8) : 1;
}

/// Orders two instances: work enqueued on `later` after this call waits for the work that `earlier` holds
/// now. The host does not wait. On a host backend this does nothing, since a kernel is finished when its
/// launch returns.
template <class Space>
void enqueue_after(Space const& later, Space const& earlier);

extern template void enqueue_after(Kokkos::DefaultExecutionSpace const&,
                                   Kokkos::DefaultExecutionSpace const&);

}  // namespace polyad::detail
