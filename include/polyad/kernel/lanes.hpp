// SPDX-License-Identifier: BSD-3-Clause
// Operations of all vector lanes of a thread inside ThreadVectorRange. Kokkos has neither a reduction nor a
// barrier for them.
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad {

/// Returns the sum of one number from each lane to all of them. Lanes is the launch's vector length, a power
/// of two and at most 32. All lanes of the thread call it together. The order of the additions is fixed.
template <int Lanes, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sum_over_lanes(Scalar value) {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0);
#if defined(__CUDA_ARCH__)
  // The lanes of a thread are adjacent in a warp, and start at a multiple of their number. Other threads of
  // the warp may be at another instruction, so the mask has only this thread's lanes.
  auto const in_warp  = static_cast<int>((threadIdx.x + blockDim.x * threadIdx.y) % 32);
  unsigned const mask = (Lanes == 32 ? ~0U : (1U << Lanes % 32) - 1U) << (in_warp / Lanes * Lanes);
  for (int distance = Lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(mask, value, distance, Lanes);
#endif
  return value;
}

/// A barrier for the lanes of one thread. Each lane then sees what the others wrote to the team's scratch pad
/// before it. Lanes as above.
template <int Lanes>
KOKKOS_FORCEINLINE_FUNCTION void sync_lanes() {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0);
#if defined(__CUDA_ARCH__)
  // As in sum_over_lanes.
  auto const in_warp  = static_cast<int>((threadIdx.x + blockDim.x * threadIdx.y) % 32);
  unsigned const mask = (Lanes == 32 ? ~0U : (1U << Lanes % 32) - 1U) << (in_warp / Lanes * Lanes);
  __syncwarp(mask);
#endif
}

/// Keeps the compiler from moving memory accesses across this point, for kernels that would otherwise read
/// too much of a table ahead of its use. It emits no instruction, so it does not affect other threads.
KOKKOS_FORCEINLINE_FUNCTION void compiler_fence() {
  asm volatile("" ::: "memory");
}

}  // namespace polyad
