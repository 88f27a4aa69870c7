// SPDX-License-Identifier: BSD-3-Clause
// Constraints: what a mode's factor must satisfy, and what its entries cost. CpAlsOptions::updates takes them
// through constrained() and nonnegative() (cp/factor_update.hpp), and a CP model keeps them.
#pragma once

#include <limits>

namespace polyad {

/// Bounds and penalties of one mode, in any combination. They are on B, the factor of a model without
/// weights: CP minimises 1/2 ||X - M||^2 + sum over n of (l1_n |B^(n)|_1 + ridge_n/2 ||B^(n)||^2) subject to
/// lower_n <= B^(n) <= upper_n for every entry.
struct Constraints {
  double lower = -std::numeric_limits<double>::infinity();  // rounded to the tensor's precision
  double upper = std::numeric_limits<double>::infinity();   // likewise
  double l1    = 0;
  double ridge = 0;

  /// Whether every entry has a lower and an upper bound.
  [[nodiscard]] bool is_bounded() const {
    return lower > -std::numeric_limits<double>::infinity() &&
           upper < std::numeric_limits<double>::infinity();
  }
  /// Whether the columns may be multiplied by any positive number: the bounds are 0 or infinite.
  [[nodiscard]] bool is_cone() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return (lower == 0 || lower == -infinity) && (upper == 0 || upper == infinity);
  }
  [[nodiscard]] bool is_penalised() const { return l1 > 0 || ridge > 0; }
  [[nodiscard]] bool allows_zero() const { return lower <= 0 && upper >= 0; }
  /// Whether least squares or a ridge alone solves the mode.
  [[nodiscard]] bool is_unconstrained() const {
    return l1 == 0 && lower == -std::numeric_limits<double>::infinity() &&
           upper == std::numeric_limits<double>::infinity();
  }

  bool operator==(Constraints const&) const = default;
};

/// Sweeps over a row's columns in each update, unless a program asks for another number.
inline constexpr int default_inner_sweeps = 1;
/// Instead of a number of sweeps: each row becomes the exact minimum, as after infinitely many sweeps.
inline constexpr int exact_inner = std::numeric_limits<int>::max();

}  // namespace polyad
