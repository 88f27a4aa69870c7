// SPDX-License-Identifier: BSD-3-Clause
// The rows to which threads add when they have private rows (formats/blco/storage/private_rows.hpp). Before
// the walk, the output and the copies are zeroed. After it, the copies are added to the output.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/build/merge_lists.hpp"
#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/storage/private_rows.hpp"
#include "kernel/launch.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// The destination of a chunk's sums: its copy if the row is private, and the output itself otherwise.
template <class Scalar>
struct PrivateOutput {
  RowsAt<Scalar> output;      // I_n x R
  RowsAt<Scalar> copies;      // private rows of all chunks x R
  PrivateRows const* chunks;  // the private rows of this mode

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* copy(PrivateRows const& own, count_t row) const {
    return copies.row(own.slot + row - own.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(PrivateRows const& own, count_t row) const {
    return own.contain(row) ? copy(own, row) : output.row(row);
  }
  /// For a chunk whose rows are all private or all not: the address of row 0, possibly before the array.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION RowsAt<Scalar> alike(PrivateRows const& own) const {
    if (own.count == 0) return output;
    return {copies.data + (own.slot - own.first) * copies.stride, copies.stride};
  }
  /// Whether all rows of a chunk have room for whole registers.
  [[nodiscard]] bool are_roomy(PrivateRows const& own) const {
    return output.is_roomy() && (own.count == 0 || copies.is_roomy());
  }
};

/// Zeroes a share of the output per chunk, and the chunks' own copies.
template <class Space, class Scalar, int Block>
struct ClearPrivateOutput {
  using Row = TinyVec<Space, Scalar, Block>;
  PrivateOutput<Scalar> output;
  count_t rows;
  ChunkWalk walks;  // over the chunks

  KOKKOS_FUNCTION static void clear(RowsAt<Scalar> const& at, count_t first, count_t end, Columns columns) {
    for (count_t i = first; i < end; ++i) Row(Scalar(0)).store(at.row(i), columns);
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walks.template operator()<Row, Block>(member, [&](count_t s, count_t, Columns columns) {
      clear(output.output, share(s), share(s + 1), columns);
      PrivateRows const own = output.chunks[s];
      if (output.copies.data != nullptr) clear(output.copies, own.slot, own.slot + own.count, columns);
    });
  }
  /// The first row of the output's share s.
  [[nodiscard]] KOKKOS_FUNCTION count_t share(count_t s) const {
    return rows / walks.items * s + Kokkos::min(s, rows % walks.items);
  }
};

/// Adds the copies of private rows to the output, chunk by chunk. Each thread handles `rows_each` rows.
template <class Space, class Scalar, int Block>
struct MergePrivateRows {
  using Row                          = TinyVec<Space, Scalar, Block>;
  static constexpr count_t rows_each = 64;  // 16 KB of 32 doubles

  PrivateOutput<Scalar> output;
  count_t chunks;
  count_t first_row;
  ChunkWalk walks;  // over the rows between the first private one and the last

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      for (count_t s = 0; s < chunks; ++s) add(output.chunks[s], first_row + begin, first_row + end, columns);
    });
  }
  /// Adds a chunk's copies of the rows first ... last - 1.
  KOKKOS_FUNCTION void add(PrivateRows const& own, count_t first, count_t last, Columns columns) const {
    count_t const end = Kokkos::min(last, own.first + own.count);
    for (count_t row = Kokkos::max(first, own.first); row < end; ++row) {
      Scalar* const target = output.output.row(row);
      Row sum(target, columns);
      sum += Row(output.copy(own, row), columns);
      sum.store(target, columns);
    }
  }
};

/// The same for many chunks, by the lists of formats/blco/build/merge_lists.hpp.
template <class Space, class Scalar, int Block>
struct MergeListedRows {
  using Row = TinyVec<Space, Scalar, Block>;
  MergePrivateRows<Space, Scalar, Block> merge;
  MergeList list;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    merge.walks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      count_t const group = begin / rows_of_merge_group;
      for (count_t k = list.starts[group]; k < list.starts[group + 1]; ++k)
        merge.add(merge.output.chunks[list.chunks[k]], merge.first_row + begin, merge.first_row + end,
                  columns);
    });
  }
};

template <class Space, class Scalar, int Block>
void clear_private_output(Space const& space, PrivateOutput<Scalar> const& output, count_t rows,
                          count_t chunks, ColumnBlocks blocks) {
  using Kernel = ClearPrivateOutput<Space, Scalar, Block>;
  ChunkWalk const walks{chunks, 1, blocks};
  detail::launch("polyad::clear_private_output", walks.template policy<typename Kernel::Row>(space),
                 Kernel{output, rows, walks});
}

template <class Space, class Scalar, int Block>
void merge_private_rows(Space const& space, PrivateOutput<Scalar> const& output, count_t chunks,
                        RowRange const& merged, ColumnBlocks blocks) {
  using Kernel = MergePrivateRows<Space, Scalar, Block>;
  if (merged.empty()) return;
  ChunkWalk const walks{merged.last + 1 - merged.first, Kernel::rows_each, blocks};
  detail::launch("polyad::merge_private_rows", walks.template policy<typename Kernel::Row>(space),
                 Kernel{output, chunks, merged.first, walks});
}

template <class Space, class Scalar, int Block>
void merge_listed_rows(Space const& space, PrivateOutput<Scalar> const& output, MergeList const& list,
                       RowRange const& merged, ColumnBlocks blocks) {
  using Kernel = MergeListedRows<Space, Scalar, Block>;
  static_assert(MergePrivateRows<Space, Scalar, Block>::rows_each == rows_of_merge_group);
  if (merged.empty()) return;
  ChunkWalk const walks{merged.last + 1 - merged.first, rows_of_merge_group, blocks};
  detail::launch("polyad::merge_private_rows", walks.template policy<typename Kernel::Row>(space),
                 Kernel{{output, 0, merged.first, walks}, list});
}

// For hosts only: a build for a device has no such walks.
#define POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, Block)                                              \
  prefix template void clear_private_output<Kokkos::DefaultHostExecutionSpace, Scalar, Block>(          \
      Kokkos::DefaultHostExecutionSpace const&, PrivateOutput<Scalar> const&, count_t, count_t,         \
      ColumnBlocks);                                                                                    \
  prefix template void merge_private_rows<Kokkos::DefaultHostExecutionSpace, Scalar, Block>(            \
      Kokkos::DefaultHostExecutionSpace const&, PrivateOutput<Scalar> const&, count_t, RowRange const&, \
      ColumnBlocks);                                                                                    \
  prefix template void merge_listed_rows<Kokkos::DefaultHostExecutionSpace, Scalar, Block>(             \
      Kokkos::DefaultHostExecutionSpace const&, PrivateOutput<Scalar> const&, MergeList const&,         \
      RowRange const&, ColumnBlocks)
#define POLYAD_PRIVATE_OUTPUT(prefix, Scalar)      \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 4);  \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 8);  \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 16); \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 24); \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 32); \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 48); \
  POLYAD_PRIVATE_OUTPUT_BLOCK(prefix, Scalar, 64)
POLYAD_PRIVATE_OUTPUT(extern, float);
POLYAD_PRIVATE_OUTPUT(extern, double);

}  // namespace polyad::detail
