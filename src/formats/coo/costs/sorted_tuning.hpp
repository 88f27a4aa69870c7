// SPDX-License-Identifier: BSD-3-Clause
// SortedTuning: how to walk a copy of `sorted`, by the shape of its tensor.
#pragma once

#include "formats/coo/storage/locality_blocks.hpp"
#include "formats/walks/ordered_chunks.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/kernel/device_chunks.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Nonzeros read and gathered at the same time (see permuted_batch). On the H200 two are best for 32 doubles,
/// because of the registers (vast 2.41 ms, with four 2.46; nell2 3.43 and 3.45). Otherwise four are best.
template <class Row>
inline constexpr int sorted_batch = rows_in_flight<typename Row::space_type>(
    Row::block < 32 || sizeof(typename Row::scalar_type) == sizeof(float) ? 4 : 2);

/// Nonzeros of a run share a row of one factor, which is multiplied once per run. Batch is a parameter so
/// that tests can run each value on every space.
template <int Batch>
struct HoistRuns {
  static constexpr bool hoists = true;
  static constexpr int batch   = Batch;
};
/// Each nonzero is multiplied with all its rows.
template <int Batch>
struct HoistNothing {
  static constexpr bool hoists = false;
  static constexpr int batch   = Batch;
};

/// The walk of a sorted copy, as measured on the H200 with R = 32 on the presets of perf_tests.
template <class Space, class Scalar>
struct SortedTuning {
  count_t nnz;
  count_t rows;  // that occur
  count_t runs;  // runs of equal (row, index of modes[1])

  /// Nonzeros in a thread's chunk (ordered_chunks.hpp). A deterministic result requires a length that does
  /// not depend on the number of threads.
  [[nodiscard]] count_t chunk(Space const& space, bool deterministic) const {
    if (!deterministic) return ordered_chunk(space, nnz, rows);
    return is_device_space<Space> ? longest_ordered_chunk(nnz, rows) : 4096;
  }
  /// Hoisting pays from four nonzeros per run on. It does not pay for doubles on a device, where it needs two
  /// more rows in registers: nell2 and vast lose 5 to 8 %. In float they gain as much.
  static constexpr bool may_hoist = !is_device_space<Space> || sizeof(Scalar) == sizeof(float);
  [[nodiscard]] bool hoist() const { return may_hoist && nnz >= 4 * runs; }
  /// Calls f(strategy) for a copy that hoists, or not.
  template <class Row, class F>
  static void with_strategy(bool hoists, F&& f) {
    if constexpr (may_hoist)
      if (hoists) return f(HoistRuns<sorted_batch<Row>>{});
    f(HoistNothing<sorted_batch<Row>>{});
  }
  /// Whether so many chunks share a row that their atomics would wait for each other. If all atomics hit the
  /// same row, one takes 2.4 ns for floats and 9 ns for doubles. A merge takes about 60 us.
  [[nodiscard]] bool hot(count_t chunk) const {
    return is_device_space<Space> && nnz >= (sizeof(Scalar) == sizeof(float) ? 8192 : 1024) * chunk * rows;
  }
  /// The nonzeros of a row on a device whose chunks add to floats so often that these lose digits. If a row
  /// has more, its borders are merged. Zero: no row is too long.
  [[nodiscard]] count_t drowning_row(count_t chunk) const {
    if (!is_device_space<Space> || sizeof(Scalar) != sizeof(float)) return 0;
    auto const average = static_cast<double>(nnz) / static_cast<double>(chunk * rows);
    count_t const most = most_additions_of_a_row(average) * chunk;
    return nnz > most ? most : 0;
  }
  /// Rows in a locality block of a mode with `extent` rows, or 0 for no blocks (locality_blocks.hpp).
  [[nodiscard]] count_t block_rows(count_t extent) const {
    return is_device_space<Space> ? locality_block_rows(nnz, rows, extent, hoist(), sizeof(Scalar)) : 0;
  }
};

/// Whether the walk goes through all nonzeros for one block of columns before it begins the next. The
/// factors' rows of a block then stay in the second-level cache even if whole rows do not. In return the
/// nonzeros are read once per block. H200, R = 128: uniform10m f64 7.70 to 6.10 ms, vast 11.8 to 10.2. A
/// factor loses if the cache holds it anyway (nell2 f32 6.16 to 6.36), or if the cache cannot hold even a
/// block's part (delicious f32 24.5 to 25.3).
template <class Scalar, class Space>
bool walk_by_block(Extents const& extents, int mode, FactorMatrices<Scalar, Space> const& factors,
                   ColumnBlocks blocks) {
  constexpr count_t held = count_t(16) << 20;  // bytes that everything else leaves
  constexpr count_t most = count_t(48) << 20;
  if (!is_device_space<Space> || blocks.count == 1) return false;
  count_t longest = 0;
  for (int n = 0; n < extents.order(); ++n)
    if (n != mode) longest = Kokkos::max(longest, extents[n]);
  auto const bytes = static_cast<double>(longest) * static_cast<double>(factors.rank() * sizeof(Scalar));
  return bytes > static_cast<double>(held) && bytes <= static_cast<double>(most) * blocks.count;
}

}  // namespace polyad::detail
