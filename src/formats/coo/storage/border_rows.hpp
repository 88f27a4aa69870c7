// SPDX-License-Identifier: BSD-3-Clause
// The rows at the borders of a sorted copy's chunks. Two chunks may share such a row. Its sums are then added
// with atomics. If the result must have the same bits at every run, they are listed and merged in the order
// of the chunks instead.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>

#include "formats/coo/storage/sorted_copy.hpp"
#include "kernel/launch.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// Entries of a list of borders that one thread of the next level merges.
inline constexpr count_t border_merge_chunk = 32;

/// Entries of all levels of a merge that starts with the borders of `chunks` chunks.
inline count_t border_entries(count_t chunks) {
  count_t entries = 0;
  for (count_t level = 2 * chunks;; level = 2 * ceil_div(level, border_merge_chunk)) {
    entries += level;
    if (level <= border_merge_chunk) return entries;
  }
}

/// The sums of border rows. Entry 2 c is the first row of chunk c, and entry 2 c + 1 its last. The latter is
/// no_row if the chunk has only one row.
template <class Scalar, class Index>
struct BorderList {
  static constexpr Index no_row = std::numeric_limits<Index>::max();

  Index* rows;  // null: the sums are added to the output with atomics
  Scalar* sums;
  count_t stride;
};

/// The output of a walk over nonzeros or borders. Their rows do not decrease, at least inside a locality
/// block.
template <class Row, class Scalar, class Index>
struct RowWriter {
  RowsAt<Scalar> output;  // I_n x R
  BorderList<Scalar, Index> borders;
  bool blocked;  // rows occur in several locality blocks: chunks share all of them

  KOKKOS_FUNCTION void store(Index row, Row const& sum, auto const& columns) const {
    sum.store(output.row(row), columns);
  }
  /// `slot` is 0 for a chunk's first row and 1 for its last.
  KOKKOS_FUNCTION void border(count_t chunk, count_t slot, Index row, Row const& sum, Columns columns) const {
    if (borders.rows == nullptr) {
      sum.atomic_add_to(output.row(row), columns);  // other chunks add to it too
      return;
    }
    count_t const entry = 2 * chunk + slot;
    if (names_rows(columns)) borders.rows[entry] = row;
    sum.store(borders.sums + entry * borders.stride, columns);
  }
  /// Called after the walk. `is_first` means that the chunk has only one row.
  KOKKOS_FUNCTION void last(count_t chunk, bool is_first, Index row, Row const& sum, Columns columns) const {
    border(chunk, is_first ? 0 : 1, row, sum, columns);
    if (is_first && borders.rows != nullptr && names_rows(columns))
      borders.rows[2 * chunk + 1] = BorderList<Scalar, Index>::no_row;
  }

private:
  /// Blocks of columns are walked by different threads: that of the first block lists the rows. Its lanes all
  /// write the same numbers.
  KOKKOS_FUNCTION static bool names_rows(Columns columns) { return columns.first < Row::block; }
};

/// The output of a walk in the order of the rows that adds the rows at the borders of chunks with atomics. It
/// is the RowWriter of a walk that never lists borders and has no locality blocks.
template <class Row, class Scalar>
struct AtomicBorders {
  static constexpr bool blocked = false;
  RowsAt<Scalar> output;  // I_n x R

  KOKKOS_FUNCTION void store(auto row, Row const& sum, auto const& columns) const {
    sum.store(output.row(row), columns);
  }
  KOKKOS_FUNCTION void border(count_t /*chunk*/, count_t /*slot*/, auto row, Row const& sum,
                              auto const& columns) const {
    sum.atomic_add_to(output.row(row), columns);  // a neighbouring chunk may add to it too
  }
  KOKKOS_FUNCTION void last(count_t chunk, bool /*is_first*/, auto row, Row const& sum,
                            auto const& columns) const {
    border(chunk, 1, row, sum, columns);
  }
};

/// Sums one level of borders. Whole rows go to the output, and rows at the ends of its chunks to the next
/// level.
template <class Space, class Scalar, class Index, int Block>
struct MergeBorders {
  using Row = TinyVec<Space, Scalar, Block>;
  BorderList<Scalar, Index> list;
  RowWriter<Row, Scalar, Index> writer;  // its borders are the next level
  bool is_last_level;                    // one chunk: every row is whole
  ChunkWalk chunks;

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, Columns columns) const {
    count_t const chunk = begin / chunks.chunk;
    Index row           = list.rows[begin];
    Row sum(Scalar(0));
    bool is_first = true;
    for (count_t p = begin; p < end; ++p) {
      Index const next = list.rows[p];
      if (next == BorderList<Scalar, Index>::no_row) continue;
      if (next != row) {
        if (is_first && !is_last_level)
          writer.border(chunk, 0, row, sum, columns);
        else
          writer.store(row, sum, columns);
        row      = next;
        sum      = Row(Scalar(0));
        is_first = false;
      }
      sum += Row(list.sums + p * list.stride, columns);
    }
    if (is_last_level)
      writer.store(row, sum, columns);
    else
      writer.last(chunk, is_first, row, sum, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Block>(
        member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns); });
  }
};

/// Merges the borders in the workspace, level by level, after a walk over `chunks` chunks.
template <class Space, class Scalar, class Index, int Block>
void merge_borders(Space const& space, SortedWorkspace<Scalar, Index, Space> const& workspace,
                   count_t walked_chunks, ColumnBlocks blocks, FactorMatrix<Scalar, Space> const& V) {
  using Kernel            = MergeBorders<Space, Scalar, Index, Block>;
  constexpr count_t chunk = border_merge_chunk;
  auto const stride       = workspace.sums.stride(0);
  count_t first           = 0;
  for (count_t entries = 2 * walked_chunks;; entries = 2 * ceil_div(entries, chunk)) {
    BorderList<Scalar, Index> const list{workspace.rows.data() + first,
                                         workspace.sums.data() + first * stride, stride};
    first += entries;
    BorderList<Scalar, Index> const next{workspace.rows.data() + first,
                                         workspace.sums.data() + first * stride, stride};
    ChunkWalk const chunks{entries, chunk, blocks};
    detail::launch("polyad::merge_borders", chunks.template policy<typename Kernel::Row>(space),
                   Kernel{list, {RowsAt<Scalar>(V), next, false}, entries <= chunk, chunks});
    if (entries <= chunk) return;
  }
}

}  // namespace polyad::detail
