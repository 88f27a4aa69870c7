// SPDX-License-Identifier: BSD-3-Clause
// sync_lanes: what one vector lane of a thread wrote to the team's scratch pad before, the others may read
// after. For use inside ThreadVectorRange, where Kokkos has no barrier of its own.
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad {

/// Lanes is a power of two, at most 32, and the launch's vector length; all lanes of the thread call it
/// together.
template <int Lanes>
KOKKOS_FORCEINLINE_FUNCTION void sync_lanes() {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0);
#if defined(__CUDA_ARCH__)
  // Other threads of the warp may be elsewhere, so the mask names this thread's lanes only
  // (kernel/lane_sum.hpp).
  auto const in_warp  = static_cast<int>((threadIdx.x + blockDim.x * threadIdx.y) % 32);
  unsigned const mask = (Lanes == 32 ? ~0U : (1U << Lanes % 32) - 1U) << (in_warp / Lanes * Lanes);
  __syncwarp(mask);
#endif
}

}  // namespace polyad
