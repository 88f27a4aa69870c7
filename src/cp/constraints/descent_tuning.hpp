// SPDX-License-Identifier: BSD-3-Clause
// The shape of the tiles of a coordinate descent (cp/constraints/descend_tiles.hpp).
#pragma once

#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// The rows of a thread, the threads of a team, the parts of A'A that a thread sums (height x width), and the
/// teams that the registers let be resident on a multiprocessor, for B columns.
///
/// One sweep over 23.8 M rows with its sums, H200, ms: R = 8, 16, 24, 32 in floats 0.96, 1.96, 4.2 and 5.2,
/// in doubles 1.7, 4.0, 9.5 and 10.9. Other shapes of floats: R = 32, four rows and 64 threads 5.3, two rows
/// and 64 threads 7.1; R = 16, two rows 2.1 to 2.7. Three rows of 32 doubles do not fit the registers (24).
/// If a matrix is short, there are few tiles and only their latency matters: R = 16 in floats took 0.021 ms
/// with four rows of a thread, and 0.012 ms with one (1140 rows, H200).
template <class Number, int Block, bool IsShort>
struct DescentShape {
  static constexpr bool of_floats = sizeof(Number) == sizeof(float);
  static constexpr int rows       = IsShort ? 1 : of_floats && Block < 32 ? 4 : 2;
  static constexpr int threads    = !of_floats && Block == 32 ? device_team_threads / 2 : device_team_threads;
  static constexpr int teams      = Block == 8 && of_floats ? 5 : Block == 16 && !of_floats ? 3 : 4;
  static constexpr int height     = of_floats && Block == 32 ? 8 : 4;
  static constexpr int width      = Block == 8 || (of_floats && Block == 32) ? 4 : 8;
};

}  // namespace polyad::detail
