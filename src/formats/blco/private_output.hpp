// SPDX-License-Identifier: BSD-3-Clause
// Where a host's threads add to their private rows (formats/blco/private_rows.hpp), and what comes before and
// after that: the output and the copies are zeroed, and the copies are added to the output.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/private_rows.hpp"
#include "formats/blco/touched_rows.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// Rows in memory.
template <class Scalar>
struct RowsAt {
  Scalar* data;
  count_t stride;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(count_t row) const { return data + row * stride; }
};

/// Where chunks add to a row: to their copy of a private row, to the output itself for any other.
template <class Scalar>
struct PrivateOutput {
  RowsAt<Scalar> output;      // I_n x R
  RowsAt<Scalar> copies;      // private rows of all chunks x R
  PrivateRows const* chunks;  // of this mode

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* copy(PrivateRows const& own, count_t row) const {
    return copies.row(own.slot + row - own.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(PrivateRows const& own, count_t row) const {
    return own.contain(row) ? copy(own, row) : output.row(row);
  }
  /// Where row 0 would be, were all rows like those of a chunk whose rows are alike.
  [[nodiscard]] RowsAt<Scalar> alike(PrivateRows const& own) const {
    if (own.count == 0) return output;
    return {copies.data + (own.slot - own.first) * copies.stride, copies.stride};
  }
};

/// Zeroes the output, a share a chunk, and the chunks' own copies.
template <class Space, class Scalar, int Block>
struct ClearPrivateOutput {
  using Row = TinyVec<Space, Scalar, Block, RowForm::simd>;
  PrivateOutput<Scalar> output;
  count_t rows;
  count_t chunks;
  ColumnBlocks blocks;

  void operator()(count_t s) const {
    Row const zero(Scalar(0));
    auto const clear = [&](RowsAt<Scalar> const& at, count_t first, count_t end) {
      for (count_t i = first; i < end; ++i)
        for (int b = 0; b < blocks.count; ++b)
          zero.store(at.row(i), Row::columns(blocks.first + b * Block, blocks.rank, 0));
    };
    clear(output.output, share(s), share(s + 1));
    PrivateRows const own = output.chunks[s];
    if (output.copies.data != nullptr) clear(output.copies, own.slot, own.slot + own.count);
  }
  /// Where share s of the output begins.
  [[nodiscard]] count_t share(count_t s) const { return rows / chunks * s + Kokkos::min(s, rows % chunks); }
};

/// Adds the copies of rows_each private rows to the output, chunk by chunk.
template <class Space, class Scalar, int Block>
struct MergePrivateRows {
  using Row                          = TinyVec<Space, Scalar, Block, RowForm::simd>;
  static constexpr count_t rows_each = 64;  // 16 KB of 32 doubles

  PrivateOutput<Scalar> output;
  RowRange rows;  // all private rows lie there
  count_t chunks;
  ColumnBlocks blocks;

  void operator()(count_t task) const {
    count_t const first = rows.first + task * rows_each;
    count_t const end   = Kokkos::min(first + rows_each, rows.last + 1);
    for (count_t s = 0; s < chunks; ++s) {
      PrivateRows const own = output.chunks[s];
      count_t const from    = Kokkos::max(first, own.first);
      count_t const to      = Kokkos::min(end, own.first + own.count);
      for (count_t row = from; row < to; ++row)
        for (int b = 0; b < blocks.count; ++b) {
          Columns const columns = Row::columns(blocks.first + b * Block, blocks.rank, 0);
          Scalar* const target  = output.output.row(row);
          Row sum(target, columns);
          sum += Row(output.copy(own, row), columns);
          sum.store(target, columns);
        }
    }
  }
};

template <class Space, class Scalar, int Block>
void clear_private_output(Space const& space, PrivateOutput<Scalar> const& output, count_t rows,
                          count_t chunks, ColumnBlocks blocks) {
  detail::launch("polyad::clear_private_output",
                 Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks),
                 ClearPrivateOutput<Space, Scalar, Block>{output, rows, chunks, blocks});
}

template <class Space, class Scalar, int Block>
void merge_private_rows(Space const& space, PrivateOutput<Scalar> const& output, count_t chunks,
                        ColumnBlocks blocks) {
  using Kernel = MergePrivateRows<Space, Scalar, Block>;
  RowRange merged;
  for (count_t s = 0; s < chunks; ++s) {
    PrivateRows const own = output.chunks[s];
    if (own.count > 0) merged.include(RowRange{own.first, own.first + own.count - 1});
  }
  if (merged.empty()) return;
  count_t const tasks = ceil_div(merged.last + 1 - merged.first, Kernel::rows_each);
  detail::launch("polyad::merge_private_rows",
                 Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, tasks),
                 Kernel{output, merged, chunks, blocks});
}

// Of hosts alone: a build for a device has no such walks.
#define POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, Block)                                      \
  prefix template void clear_private_output<Kokkos::DefaultHostExecutionSpace, Scalar, Block>(  \
      Kokkos::DefaultHostExecutionSpace const&, PrivateOutput<Scalar> const&, count_t, count_t, \
      ColumnBlocks);                                                                            \
  prefix template void merge_private_rows<Kokkos::DefaultHostExecutionSpace, Scalar, Block>(    \
      Kokkos::DefaultHostExecutionSpace const&, PrivateOutput<Scalar> const&, count_t, ColumnBlocks)
#define POLYAD_PRIVATE_OUTPUT(prefix, Scalar)      \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 4);  \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 8);  \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 16); \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 32)
POLYAD_PRIVATE_OUTPUT(extern, float);
POLYAD_PRIVATE_OUTPUT(extern, double);

}  // namespace polyad::detail
