// SPDX-License-Identifier: BSD-3-Clause
// The host that accompanies an execution space: copies of a device's arrays, and the host's own threads.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// A view of host memory with the same entries: a copy if the array is on a device, otherwise the array
/// itself. Waits for `space`.
/// \throws MemoryError naming `array` before the copy is allocated
template <class Space, class View>
auto on_host(Space const& space, std::string const& array, View const& view) {
  if (is_device_space<Space>)
    expect_fits(HostOf<Space>(), array, view.size(), sizeof(typename View::value_type));
  auto const copy = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, view);
  Kokkos::deep_copy(space, copy, view);
  space.fence("polyad::on_host");
  return copy;
}

/// The host's execution space that accompanies `space`: `space` itself on a host.
template <class Space>
HostOf<Space> host_instance([[maybe_unused]] Space const& space) {
  if constexpr (is_device_space<Space>)
    return {};
  else
    return space;
}

/// Host threads for work that accompanies `space`: those of `space` itself on a host, 0 (all) for a device.
template <class Space>
int host_threads(Space const& space) {
  return is_device_space<Space> ? 0 : static_cast<int>(space.concurrency());
}

}  // namespace polyad::detail
