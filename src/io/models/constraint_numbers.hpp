// SPDX-License-Identifier: BSD-3-Clause
// The constraints of a model as the numbers of a file, N x 4: lower, upper, l1 and ridge of each mode. For
// a missing bound the file has the largest double, negative for lower.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "polyad/tensor/constraints.hpp"

namespace polyad::io {

inline constexpr std::size_t numbers_of_constraints = 4;

[[nodiscard]] inline std::vector<double> constraint_numbers(std::vector<Constraints> const& constraints) {
  constexpr double most = std::numeric_limits<double>::max();
  std::vector<double> numbers;
  for (auto const& c : constraints)
    for (double const number : {std::max(c.lower, -most), std::min(c.upper, most), c.l1, c.ridge})
      numbers.push_back(number);
  return numbers;
}

/// The reverse. Nothing unless each mode has an interval and penalties of at least 0.
/// \param numbers  4 for each mode, finite
[[nodiscard]] inline std::optional<std::vector<Constraints>> constraints_of(
    std::vector<double> const& numbers) {
  constexpr double most = std::numeric_limits<double>::max();
  std::vector<Constraints> constraints;
  for (std::size_t e = 0; e + numbers_of_constraints <= numbers.size(); e += numbers_of_constraints) {
    Constraints c;
    if (numbers[e] != -most) c.lower = numbers[e];
    if (numbers[e + 1] != most) c.upper = numbers[e + 1];
    c.l1    = numbers[e + 2];
    c.ridge = numbers[e + 3];
    if (!(c.lower <= c.upper && c.l1 >= 0 && c.ridge >= 0)) return std::nullopt;
    constraints.push_back(c);
  }
  return constraints;
}

}  // namespace polyad::io
