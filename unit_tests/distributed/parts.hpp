// SPDX-License-Identifier: BSD-3-Clause
// Nonzeros dealt out to the ranks of a test.
#pragma once

#include <cstdint>
#include <vector>

#include "distributed/world.hpp"
#include "polyad/testing/small_tensors.hpp"

namespace polyad::test {

enum class Dealt { in_turn, all_to_rank_0, all_to_last_rank, whole };

struct Part {
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
};

/// This rank's part of a tensor, or the whole.
inline Part part_of(testing::HostTensor const& tensor, Dealt dealt) {
  auto const order = tensor.extents.size();
  auto const ranks = static_cast<std::size_t>(world().size());
  Part part;
  for (std::size_t p = 0; p < tensor.values.size(); ++p) {
    std::size_t const rank = dealt == Dealt::in_turn            ? p % ranks
                             : dealt == Dealt::all_to_last_rank ? ranks - 1
                                                                : 0;
    if (dealt != Dealt::whole && rank != static_cast<std::size_t>(world().rank())) continue;
    for (std::size_t n = 0; n < order; ++n)
      part.indices.push_back(static_cast<std::uint32_t>(tensor.indices[p * order + n]));
    part.values.push_back(tensor.values[p]);
  }
  return part;
}

}  // namespace polyad::test
