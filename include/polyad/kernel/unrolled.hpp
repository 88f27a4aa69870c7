// SPDX-License-Identifier: BSD-3-Clause
// A loop that is unrolled before any other optimization. GCC 12 assigns registers before it unrolls loops. An
// array of registers that is indexed by the loop variable then stays in memory, and the solve of 32 columns
// of doubles took twice as long.
#pragma once

/// Placed before a function, it inlines all calls in that function. It is empty with a sanitizer: the checks
/// make such a function so long that GCC takes minutes to assign its registers.
#ifdef __SANITIZE_ADDRESS__
#define POLYAD_FLATTEN
#else
#define POLYAD_FLATTEN __attribute__((flatten))
#endif

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>

namespace polyad {
namespace detail {

template <class F, int... I>
KOKKOS_FORCEINLINE_FUNCTION constexpr void unroll(F const& f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>{}), ...);
}

}  // namespace detail

/// f(std::integral_constant<int, i>) for i = 0, ..., Count - 1.
template <int Count, class F>
KOKKOS_FORCEINLINE_FUNCTION constexpr void unrolled(F const& f) {
  detail::unroll(f, std::make_integer_sequence<int, Count>{});
}

}  // namespace polyad
