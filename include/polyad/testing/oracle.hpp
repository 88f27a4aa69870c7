// SPDX-License-Identifier: BSD-3-Clause
// The oracle: an MTTKRP as the serial loops of its definition, in long double over std::vector, and an error
// bound for rounded results. It shares no code with the library. Free of Kokkos.
//
// Random numbers of the tests are multiples of 2^-12 of magnitude 1/2 to 2. They are exact in float, so one
// oracle serves both scalars. A product of two has more bits than a float, so rounding occurs. A product of
// 16 neither overflows nor underflows.
//
// The bound is derived as in Higham, "Accuracy and Stability of Numerical Algorithms" (2nd ed.), sections 3.1
// and 4.2. A result of k rounded operations has a relative error of at most gamma(k) = k u / (1 - k u), where
// u is the unit roundoff, half of epsilon.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace polyad::testing {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// A sparse tensor: nnz x order subscripts from 0, row-major, duplicates allowed.
struct HostTensor {
  std::string name;
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> indices;
  std::vector<double> values;

  [[nodiscard]] std::size_t order() const { return extents.size(); }
  [[nodiscard]] std::size_t nnz() const { return values.size(); }
  [[nodiscard]] std::uint64_t index(std::size_t p, std::size_t n) const { return indices[p * order() + n]; }
};

/// A row-major matrix.
struct HostMatrix {
  std::size_t rows    = 0;
  std::size_t columns = 0;
  std::vector<double> data;

  HostMatrix() = default;
  HostMatrix(std::size_t rows_, std::size_t columns_)
      : rows(rows_), columns(columns_), data(rows_ * columns_) {}
  [[nodiscard]] double& operator()(std::size_t i, std::size_t j) { return data[i * columns + j]; }
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const { return data[i * columns + j]; }
};

/// One matrix per mode.
using HostFactors = std::vector<HostMatrix>;

using Random = std::mt19937_64;

/// Uniform in 0 ... bound - 1. (The distributions of <random> differ between libraries; this does not.)
inline std::uint64_t random_below(Random& random, std::uint64_t bound) {
  return (random() >> 11) % bound;
}

/// See the top of this file.
inline double random_number(Random& random) {
  double const magnitude = static_cast<double>(2048 + random_below(random, 6144)) / 4096;
  return random_below(random, 2) == 0 ? magnitude : -magnitude;
}

/// -2, -1, 1 or 2: sums of products of these are exact while they stay below 2^24.
inline double random_integer(Random& random) {
  double const magnitude = static_cast<double>(1 + random_below(random, 2));
  return random_below(random, 2) == 0 ? magnitude : -magnitude;
}

inline HostMatrix random_matrix(Random& random, std::size_t rows, std::size_t columns,
                                double (*number)(Random&) = random_number) {
  HostMatrix matrix(rows, columns);
  for (double& entry : matrix.data) entry = number(random);
  return matrix;
}

inline HostFactors random_factors(Random& random, std::vector<std::uint64_t> const& extents, std::size_t rank,
                                  double (*number)(Random&) = random_number) {
  HostFactors factors;
  for (auto const rows : extents) factors.push_back(random_matrix(random, rows, rank, number));
  return factors;
}

/// A matrix of sums, with the data for a bound on their rounding errors.
struct OracleSums {
  std::size_t rows    = 0;
  std::size_t columns = 0;
  std::vector<long double> value;      // rows x columns
  std::vector<long double> magnitude;  // rows x columns: the sum of the terms' absolute values
  std::vector<std::size_t> terms;      // per row: how many terms each of its entries sums

  OracleSums(std::size_t rows_, std::size_t columns_)
      : rows(rows_), columns(columns_), value(rows_ * columns_), magnitude(rows_ * columns_), terms(rows_) {}
};

/// V(k, r) = sum over the nonzeros with i_mode = k of x * prod over m != mode of A^(m)(i_m, r)
inline OracleSums oracle_mttkrp(HostTensor const& X, HostFactors const& factors, std::size_t mode) {
  std::size_t const rank = factors[0].columns;
  OracleSums V(X.extents[mode], rank);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t const k = X.index(p, mode);
    ++V.terms[k];
    for (std::size_t r = 0; r < rank; ++r) {
      long double term = X.values[p];
      for (std::size_t m = 0; m < X.order(); ++m)
        if (m != mode) term *= factors[m](X.index(p, m), r);
      V.value[k * rank + r] += term;
      V.magnitude[k * rank + r] += std::abs(term);
    }
  }
  return V;
}

/// gamma(k) of a scalar type.
template <class Scalar>
long double gamma(std::size_t k) {
  long double const ku = static_cast<long double>(k) * std::numeric_limits<Scalar>::epsilon() / 2;
  return ku < 1 ? ku / (1 - ku) : HUGE_VALL;
}

/// Rounded operations of one entry of a sum of `terms` products of `factors` numbers each. These are factors
/// - 1 multiplications, and at most terms - 1 additions for any term, in any order and grouping. The first
/// term is added to an exact zero without rounding, an atomic is one addition, and a fused multiply-add saves
/// a rounding. For an MTTKRP factors = N and this is L + N - 2. So |error| <= gamma(L + N - 2) sum|terms|, at
/// most c (L + N) eps sum|terms| with c = 1 while (L + N) u < 1/2.
inline std::size_t roundings(std::size_t terms, std::size_t factors) {
  return terms == 0 ? 0 : terms - 1 + factors - 1;
}

/// The places where `actual` (rows x columns) exceeds the bound around `expected`, as text. The sums were
/// made in `Sum` and stored as `Scalar`. The oracle's own error is bounded in the same way.
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

}  // namespace polyad::testing
