// SPDX-License-Identifier: BSD-3-Clause
// Powers of two by which columns are scaled: a product with one changes no bit of a mantissa.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace polyad::detail {

/// Whether a column can be scaled by x and by 1 / x: both are normal and positive.
KOKKOS_INLINE_FUNCTION bool is_scale(double x) {
  return x >= 0x1p-1022 && x <= 0x1p1022;
}

/// The largest power of two that does not exceed x, for is_scale(x).
KOKKOS_INLINE_FUNCTION double power_of_two_below(double x) {
  constexpr std::uint64_t exponent_bits = 0x7FF0000000000000ULL;
  return Kokkos::bit_cast<double>(Kokkos::bit_cast<std::uint64_t>(x) & exponent_bits);
}

}  // namespace polyad::detail
