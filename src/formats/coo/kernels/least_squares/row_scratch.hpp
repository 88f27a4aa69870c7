// SPDX-License-Identifier: BSD-3-Clause
// set_row_scratch: scratch memory for kernels that solve a system for each row of a mode.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>

#include "kernel/launch_shape.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// Gives each team of the policy `bytes` of scratch, aligned for packed rows, and returns the level. It is
/// level 0 if a team may use that much there, and level 1 otherwise. Level 1 is global memory: Kokkos takes
/// as much of it as the teams need that run at the same time.
/// \throws MemoryError when these do not fit, or Kokkos cannot count a team's bytes
template <class Space, class Policy>
int set_row_scratch(Space const& space, LaunchShape const& shape, count_t bytes, Policy& policy) {
  count_t const padded = bytes + row_alignment;
  if (padded > std::numeric_limits<int>::max())
    throw MemoryError("the scratch memory for the least squares of a row", padded,
                      "more than 2^31 bytes: take fewer columns");
  int const level = padded > team_scratch<Space>() ? 1 : 0;
  if (level == 1) {
    count_t const threads = std::max(1, space.concurrency());
    count_t const teams   = std::max<count_t>(1, threads / (shape.team * shape.vector));
    expect_fits(space, "the scratch memory for the least squares of rows", std::min(shape.league, teams),
                padded);
  }
  policy.set_scratch_size(level, Kokkos::PerTeam(padded));
  return level;
}

}  // namespace polyad::detail
