// SPDX-License-Identifier: BSD-3-Clause
// SortedTuning: how a copy of `sorted` is walked, by the shape of its tensor.
#pragma once

#include "formats/coo/locality_blocks.hpp"
#include "formats/ordered_chunks.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::detail {

/// How a sorted copy is walked: measured on the H200 with R = 32 on the presets of perf_tests.
template <class Space, class Scalar>
struct SortedTuning {
  count_t nnz;
  count_t rows;  // that occur
  count_t runs;  // of equal (row, index of modes[1])

  /// Nonzeros in a thread's chunk (ordered_chunks.hpp), independent of the number of threads where the result
  /// must be.
  [[nodiscard]] count_t chunk(Space const& space, bool deterministic) const {
    if (!deterministic) return ordered_chunk(space, nnz, rows);
    return is_device_space<Space> ? longest_ordered_chunk(nnz, rows) : 4096;
  }
  /// Hoisting pays from four nonzeros a run on. On a device not for doubles: it needs two rows more in
  /// registers (nell2 and vast lose 5 to 8 %; in float they gain as much).
  static constexpr bool may_hoist = !is_device_space<Space> || sizeof(Scalar) == sizeof(float);
  [[nodiscard]] bool hoist() const { return may_hoist && nnz >= 4 * runs; }
  /// Whether so many chunks share a row that their atomics would wait for each other: an atomic row of floats
  /// takes 2.4 ns when all hit the same one, of doubles 9 ns, against some 60 us for a merge.
  [[nodiscard]] bool hot(count_t chunk) const {
    return is_device_space<Space> && nnz >= (sizeof(Scalar) == sizeof(float) ? 8192 : 1024) * chunk * rows;
  }
  /// Rows in a locality block of a mode of so many, 0 for no blocks (locality_blocks.hpp).
  [[nodiscard]] count_t block_rows(count_t extent) const {
    return is_device_space<Space> ? locality_block_rows(nnz, rows, extent, hoist(), sizeof(Scalar)) : 0;
  }
};

}  // namespace polyad::detail
