// SPDX-License-Identifier: BSD-3-Clause
// without_waiting: a policy for short kernels that an iteration launches often.
//
// Kokkos passes kernels of more than 512 bytes to a device through one buffer in constant memory. The host
// waits before the next launch of such a kernel until the last one has ended, so it cannot run ahead of the
// device.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/spaces.hpp"

namespace polyad::detail {

/// `policy` with a hint: the kernel, which has less than 4096 bytes, is an argument of its launch.
template <class Policy>
[[nodiscard]] auto without_waiting(Policy const& policy) {
  if constexpr (is_device_space<typename Policy::execution_space>)
    return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  else
    return policy;
}

}  // namespace polyad::detail
