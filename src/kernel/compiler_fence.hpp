// SPDX-License-Identifier: BSD-3-Clause
// compiler_fence: for kernels whose compiler would read too much of a table ahead of its use.
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad::detail {

/// The compiler moves no access to memory from one side to the other. There is no instruction for it, so the
/// processor and other threads know nothing of it.
KOKKOS_FORCEINLINE_FUNCTION void compiler_fence() {
  asm volatile("" ::: "memory");
}

}  // namespace polyad::detail
