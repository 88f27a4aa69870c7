// SPDX-License-Identifier: BSD-3-Clause
// A loop that is unrolled before anything else is done to it. An array of registers that is indexed by a
// loop's variable stays in memory with GCC 12, which unrolls after it has given variables their registers:
// the solve of 32 columns of doubles took twice the time.
#pragma once

/// Before a function: all that it calls is compiled into it. Not with a sanitizer, whose checks make such a
/// function so long that GCC takes minutes to give its variables registers.
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
