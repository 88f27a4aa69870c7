// SPDX-License-Identifier: BSD-3-Clause
// Bounds on rounding errors, derived as in Higham, "Accuracy and Stability of Numerical Algorithms" (2nd
// ed.), sections 3.1 and 4.2: a result that passes through k rounded operations is off by a factor of at most
// 1 +- gamma(k), gamma(k) = k u / (1 - k u), u the unit roundoff, half of epsilon.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "support/oracle.hpp"

namespace polyad::test {

/// gamma(k) of a scalar type.
template <class Scalar>
long double gamma(std::size_t k) {
  long double const ku = static_cast<long double>(k) * std::numeric_limits<Scalar>::epsilon() / 2;
  return ku < 1 ? ku / (1 - ku) : HUGE_VALL;
}

/// Rounded operations behind one entry of a sum of `terms` products of `factors` numbers each: factors - 1
/// multiplications, and at most terms - 1 additions for any one term, in whatever order and grouping the
/// terms are added (the first is added to an exact zero, which rounds nothing; an atomic is one addition; a
/// fused multiply-add saves a rounding). For an MTTKRP factors = N and this is L + N - 2, so that
/// |error| <= gamma(L + N - 2) sum|terms|, which is at most c (L + N) eps sum|terms| with c = 1 while
/// (L + N) u < 1/2.
inline std::size_t roundings(std::size_t terms, std::size_t factors) {
  return terms == 0 ? 0 : terms - 1 + factors - 1;
}

/// Where `actual` (rows x columns) leaves the bound around `expected`, as text; empty when nowhere. The sums
/// were made in `Sum` and stored as `Scalar`. The oracle's own error is bounded in the same way.
template <class Scalar, class Sum = Scalar>
std::string violation(OracleSums const& expected, std::vector<double> const& actual, std::size_t factors) {
  if (actual.size() != expected.value.size())
    return "size " + std::to_string(actual.size()) + " instead of " + std::to_string(expected.value.size());
  constexpr bool stored_narrower = std::numeric_limits<Scalar>::digits < std::numeric_limits<Sum>::digits;
  for (std::size_t e = 0; e < actual.size(); ++e) {
    std::size_t const row = e / expected.columns;
    std::size_t const k   = roundings(expected.terms[row], factors);
    long double bound     = (gamma<Sum>(k) + gamma<long double>(k)) * expected.magnitude[e];
    if (stored_narrower) bound += gamma<Scalar>(1) * (std::abs(expected.value[e]) + bound);
    long double const error = std::abs(static_cast<long double>(actual[e]) - expected.value[e]);
    if (error <= bound) continue;  // written so that NaN is a violation
    std::ostringstream text;
    text.precision(17);
    text << "entry (" << row << ", " << e % expected.columns << "): " << actual[e] << " instead of "
         << expected.value[e] << ", off by " << error << ", bound " << bound << ", terms "
         << expected.terms[row];
    return text.str();
  }
  return {};
}

}  // namespace polyad::test
