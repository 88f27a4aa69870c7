// SPDX-License-Identifier: BSD-3-Clause
// Whether a step of a matrix had the best length along its direction.
#pragma once

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

/// step() moves B (row-major, nothing between its rows) to where loss() is lowest along its direction. Along
/// it the loss is a parabola, so that a tenth less and a tenth more are worse by the same. Leaves B a tenth
/// too far.
template <class Loss, class Step>
void expect_best_length(TestSpace const& space, FactorMatrix<double, TestSpace> const& B, Loss const& loss,
                        Step const& step) {
  auto const before = flat(B);
  double const high = loss();
  step();
  space.fence("polyad::test");
  auto const after = flat(B);
  double const low = loss();
  CHECK(low < high);
  auto const at = [&](double t) {
    std::vector<double> moved(before.size());
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = before[i] + t * (after[i] - before[i]);
    from_host<double>(space, moved, B);
    return loss();
  };
  double const less = at(0.9), more = at(1.1);
  CHECK(less > low);
  CHECK(more > low);
  CHECK(std::abs((less - low) - (more - low)) < 1e-6 * (high - low));
}

}  // namespace polyad::test
