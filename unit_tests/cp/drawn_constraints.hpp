// SPDX-License-Identifier: BSD-3-Clause
// Random bounds and penalties for the tests of constrained CP.
#pragma once

#include <cstddef>
#include <vector>

#include "polyad/tensor/constraints.hpp"
#include "polyad/testing/oracle.hpp"

namespace polyad::test {

/// A draw of bounds and penalties. Penalties are there for all modes or none, bounds with 0 inside or not.
inline std::vector<Constraints> drawn_constraints(testing::Random& random, std::size_t order) {
  bool const is_penalised = testing::random_below(random, 2) == 0;
  auto const quarter      = [&](std::size_t below) {
    return static_cast<double>(testing::random_below(random, below)) / 4;
  };
  std::vector<Constraints> constraints;
  for (std::size_t n = 0; n < order; ++n) {
    Constraints c;
    auto const kind = testing::random_below(random, 5);
    if (kind == 1) c.lower = 0;
    if (kind == 2) c.lower = quarter(8) - 1;
    if (kind == 3) c.upper = quarter(8);
    if (kind == 4) {
      c.lower = quarter(6) - 1;
      c.upper = c.lower + 0.25 + quarter(6);
    }
    if (is_penalised) {
      c.l1    = quarter(4);
      c.ridge = 0.25 + quarter(4);
    }
    constraints.push_back(c);
  }
  return constraints;
}

}  // namespace polyad::test
