// SPDX-License-Identifier: BSD-3-Clause
// A run's numbers on the device as vectors in host memory, and back.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "dense/update/hadamard_of_grams.hpp"

namespace polyad::detail {

/// Call it once the writers of the numbers have ended. Waits.
template <class Space>
[[nodiscard]] std::vector<double> on_host(DeviceNumbers<Space> const& numbers) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), numbers);
  return {host.data(), host.data() + host.size()};
}

/// As many values as numbers. Waits for `space`.
template <class Space>
void to_device(Space const& space, std::vector<double> const& values, DeviceNumbers<Space> const& numbers) {
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), numbers);
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(space, numbers, host);
  space.fence("polyad::to_device");
}

}  // namespace polyad::detail
