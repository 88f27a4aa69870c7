// SPDX-License-Identifier: BSD-3-Clause
// Tensors and matrices as plain host data, the form in which the tests make them and the oracle reads them.
//
// Random numbers of the tests are multiples of 2^-12 of magnitude 1/2 to 2: they are exact in float, so that
// one oracle serves both scalars; a product of two has more bits than a float, so that rounding happens; and
// a product of 16 neither overflows nor underflows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace polyad::test {

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

}  // namespace polyad::test
