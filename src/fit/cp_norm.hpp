// SPDX-License-Identifier: BSD-3-Clause
// The norm of a CP model from the Gram matrices of its factors.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "fit/double_double.hpp"

namespace polyad::detail {

struct CpNorm {
  DoubleDouble squared;   // ||M||^2
  double components = 0;  // the sum of the components' norms
};

/// \param grams  an R x R matrix for each mode, row-major; one after the other
inline CpNorm cp_norm(std::span<DoubleDouble const> grams, std::vector<double> const& weights) {
  CpNorm norm;
  std::size_t const rank = weights.size();
  std::size_t const size = rank * rank;
  for (std::size_t r = 0; r < rank; ++r)
    for (std::size_t s = 0; s <= r; ++s) {
      DoubleDouble product = DoubleDouble::product(weights[r], weights[s]);
      for (std::size_t at = r * rank + s; at < grams.size(); at += size) product *= grams[at];
      norm.squared += r == s ? product : product * 2;
      if (r == s) norm.components += std::sqrt(static_cast<double>(product));
    }
  return norm;
}

}  // namespace polyad::detail
