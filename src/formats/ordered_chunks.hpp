// SPDX-License-Identifier: BSD-3-Clause
// How many nonzeros a thread walks where they come in the order of their output rows: the chunks of `sorted`
// and the bins of trees, whose walk is the same.
#pragma once

#include <algorithm>

#include "polyad/kernel/chunk_walk.hpp"

namespace polyad::detail {

/// On a device, where enough nonzeros are there: the longest, or 64 where the rows that occur are short
/// (H200, R = 32: uniform10m gains 5 %; nell2, whose rows are long and hot, loses 7 to 30 %;
/// docs/design-notes.md).
constexpr count_t longest_ordered_chunk(count_t nnz, count_t rows) {
  return nnz < 512 * rows ? 64 : longest_device_chunk;
}

/// Nonzeros in a chunk; on a host as many as balance allows.
template <class Space>
count_t ordered_chunk(Space const& space, count_t nnz, count_t rows) {
  if (!is_device_space<Space>) return chunk_length(space, nnz, 1);
  return std::min(longest_ordered_chunk(nnz, rows), chunk_length(space, nnz, 8));
}

}  // namespace polyad::detail
