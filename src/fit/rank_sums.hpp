// SPDX-License-Identifier: BSD-3-Clause
// RankSums: what a fit needs of other ranks. Without Kokkos.
#pragma once

#include <functional>
#include <span>

namespace polyad::detail {

/// The communication of a fit; both functions are empty on one rank. All ranks call them in the same order.
struct RankSums {
  std::function<void(std::span<double>)> sum = {};  // in host memory: the same bits on all ranks
  std::function<double(double)> largest      = {};

  [[nodiscard]] double largest_of(double here) const { return largest ? largest(here) : here; }
};

}  // namespace polyad::detail
