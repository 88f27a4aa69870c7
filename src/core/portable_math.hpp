// SPDX-License-Identifier: BSD-3-Clause
// log2 and exp2 with the same bits everywhere. They consist only of IEEE operations. Each multiplication
// that feeds an addition is an explicit fused multiply-add, so compilers have no choice. They serve numbers
// that decide where data goes (tensor/generate.hpp), not accuracy: the error is a few units in the last
// place.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace polyad::detail {

/// Base-2 logarithm of a normal, positive number.
KOKKOS_INLINE_FUNCTION double portable_log2(double x) {
  auto bits       = Kokkos::bit_cast<std::uint64_t>(x);
  double exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
  double mantissa = Kokkos::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    exponent += 1;
  }
  // log m = 2 artanh t = 2 (t + t^3/3 + ...), |t| < 0.172: eleven terms leave less than 2^-55.
  double const t = (mantissa - 1) / (mantissa + 1);
  double const s = t * t;
  double sum     = 0;
  for (int k = 21; k >= 1; k -= 2) sum = Kokkos::fma(sum, s, 1.0 / k);
  return Kokkos::fma(t * 2.8853900817779268, sum, exponent);  // 2 / ln 2
}

/// 2^y for |y| < 1000.
KOKKOS_INLINE_FUNCTION double portable_exp2(double y) {
  double const whole = Kokkos::floor(y + 0.5);
  double const z     = (y - whole) * 0.69314718055994531;
  double sum         = 1;  // Taylor, |z| < 0.347: fourteen terms leave less than 2^-60
  for (int k = 14; k >= 1; --k) sum = Kokkos::fma(sum, z * (1.0 / k), 1.0);
  std::uint64_t const exponent = static_cast<std::int64_t>(whole) + 1023;
  return sum * Kokkos::bit_cast<double>(exponent << 52);
}

}  // namespace polyad::detail
