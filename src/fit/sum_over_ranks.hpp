// SPDX-License-Identifier: BSD-3-Clause
// Sums over the ranks of a run without a rounding error beyond that of DoubleDouble.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "fit/double_double.hpp"
#include "fit/rank_sums.hpp"

namespace polyad::detail {

/// Replaces each number by its sum over all ranks. Each number is split into parts of 26 bits, on a grid that
/// all ranks share. The sum of a part over up to 2^26 ranks then has no rounding error, in any order.
inline void sum_over_ranks(RankSums const& ranks, std::span<DoubleDouble> numbers) {
  if (!ranks.sum) return;
  constexpr int parts = 5;
  double largest      = 0;
  for (auto const& number : numbers) largest = std::fmax(largest, std::abs(number.high));
  largest = ranks.largest_of(largest);
  if (largest == 0) return;
  std::vector<double> split(numbers.size() * parts);
  double const top = std::exp2(std::ceil(std::log2(largest)) + 1);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    double grid = top;
    auto rest   = numbers[k];
    for (int part = 0; part < parts; ++part) {
      grid *= 0x1p-26;
      double const rounded    = std::nearbyint(rest.high / grid) * grid;
      split[k * parts + part] = rounded;
      rest                    = rest - DoubleDouble(rounded);
    }
  }
  ranks.sum(split);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = DoubleDouble();
    for (int part = parts - 1; part >= 0; --part) numbers[k] += DoubleDouble(split[k * parts + part]);
  }
}

}  // namespace polyad::detail
