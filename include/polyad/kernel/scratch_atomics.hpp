// SPDX-License-Identifier: BSD-3-Clause
// Atomic additions to a team's scratch memory. Kokkos' own atomics accept any address. On a device each of
// them would first test whether the address is in shared memory, and its scope would be wider than the team.
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad {

/// *target += value, while other threads of the team may add too. Returns the old value.
template <class Number>
KOKKOS_INLINE_FUNCTION Number scratch_fetch_add(Number* target, Number value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(target, value);  // the compiler knows where the address came from
#else
  return Kokkos::atomic_fetch_add(target, value);
#endif
}

/// The same without the old value, which is cheaper.
template <class Number>
KOKKOS_INLINE_FUNCTION void scratch_add(Number* target, Number value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(target, value);
#else
  Kokkos::atomic_add(target, value);
#endif
}

}  // namespace polyad
