// SPDX-License-Identifier: BSD-3-Clause
// Atomic additions to a team's scratch memory. Kokkos' own are written for any address: on a device each
// would first ask whether its address is shared, and reach further than the team.
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad {

/// *target += value, which the team's other threads may do at the same time. Returns what was there before.
template <class Number>
KOKKOS_INLINE_FUNCTION Number scratch_fetch_add(Number* target, Number value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(target, value);  // the compiler knows where the address came from
#else
  return Kokkos::atomic_fetch_add(target, value);
#endif
}

/// The same without the answer, which is cheaper.
template <class Number>
KOKKOS_INLINE_FUNCTION void scratch_add(Number* target, Number value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(target, value);
#else
  Kokkos::atomic_add(target, value);
#endif
}

}  // namespace polyad
