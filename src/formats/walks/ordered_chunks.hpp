// SPDX-License-Identifier: BSD-3-Clause
// The nonzeros that a thread walks if they come in the order of their output rows. The chunks of `sorted` and
// the bins of trees use the same number, since their walks are the same.
#pragma once

#include <algorithm>
#include <limits>

#include "kernel/launch_shape.hpp"
#include "polyad/kernel/chunk_walk.hpp"

namespace polyad::detail {

/// The length on a device with enough nonzeros: the longest, or 64 if the rows that occur are short. H200,
/// R = 32: uniform10m gains 5 %; nell2, whose rows are long and hot, loses 7 to 30 %
/// (docs/developer/decisions.md).
constexpr count_t longest_ordered_chunk(count_t nnz, count_t rows) {
  return nnz < 512 * rows ? 64 : longest_device_chunk;
}

/// Nonzeros in a chunk; on a host as many as balance allows.
template <class Space>
count_t ordered_chunk(Space const& space, count_t nnz, count_t rows) {
  constexpr count_t no_limit = std::numeric_limits<count_t>::max();
  return std::min(items_per_thread<Space>(longest_ordered_chunk(nnz, rows), no_limit),
                  chunk_length(space, nnz, 8));
}

}  // namespace polyad::detail
