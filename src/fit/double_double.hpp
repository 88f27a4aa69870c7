// SPDX-License-Identifier: BSD-3-Clause
// DoubleDouble: the unevaluated sum of two doubles, about 106 bits (Dekker, Numer. Math. 18, 1971; Knuth, The
// Art of Computer Programming 2, section 4.2.2). The fit needs it where sums cancel.
//
// An error term is exact only if the compiler does not fuse the product before it with the sum after it.
// Therefore products are formed by fma(a, b, 0.0), which no compiler may split or fuse again.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>

namespace polyad::detail {

struct DoubleDouble {
  double high = 0;
  double low  = 0;

  DoubleDouble() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  KOKKOS_INLINE_FUNCTION DoubleDouble(double x) : high(x) {}
  KOKKOS_INLINE_FUNCTION DoubleDouble(double high_, double low_) : high(high_), low(low_) {}

  [[nodiscard]] KOKKOS_INLINE_FUNCTION explicit operator double() const { return high + low; }

  /// The exact sum a + b.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static DoubleDouble sum(double a, double b) {
    double const s = a + b;
    double const t = s - a;
    return {s, (a - (s - t)) + (b - t)};
  }
  /// The same for |a| >= |b|.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static DoubleDouble ordered_sum(double a, double b) {
    double const s = a + b;
    return {s, b - (s - a)};
  }
  /// The exact product a b.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static DoubleDouble product(double a, double b) {
    double const p = Kokkos::fma(a, b, 0.0);
    return {p, Kokkos::fma(a, b, -p)};
  }

  KOKKOS_INLINE_FUNCTION friend DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
  KOKKOS_INLINE_FUNCTION friend DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
    auto s       = sum(a.high, b.high);
    auto const t = sum(a.low, b.low);
    s            = ordered_sum(s.high, s.low + t.high);
    return ordered_sum(s.high, s.low + t.low);
  }
  KOKKOS_INLINE_FUNCTION friend DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
  KOKKOS_INLINE_FUNCTION friend DoubleDouble operator*(DoubleDouble a, double b) {
    auto const p = product(a.high, b);
    return ordered_sum(p.high, Kokkos::fma(a.low, b, p.low));
  }
  KOKKOS_INLINE_FUNCTION friend DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
    auto const p = product(a.high, b.high);
    return ordered_sum(p.high, Kokkos::fma(a.high, b.low, Kokkos::fma(a.low, b.high, p.low)));
  }
  KOKKOS_INLINE_FUNCTION DoubleDouble& operator+=(DoubleDouble b) { return *this = *this + b; }
  KOKKOS_INLINE_FUNCTION DoubleDouble& operator*=(double b) { return *this = *this * b; }
  KOKKOS_INLINE_FUNCTION DoubleDouble& operator*=(DoubleDouble b) { return *this = *this * b; }
};

/// x^2, exact if x is a double.
[[nodiscard]] KOKKOS_INLINE_FUNCTION DoubleDouble square(double x) {
  return DoubleDouble::product(x, x);
}
[[nodiscard]] KOKKOS_INLINE_FUNCTION DoubleDouble square(DoubleDouble x) {
  return x * x;
}

/// The largest relative error of an operation of T, or of a rounding to T.
template <class T>
inline constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
template <>
inline constexpr double unit_roundoff<DoubleDouble> = 0x1p-103;

}  // namespace polyad::detail
