// SPDX-License-Identifier: BSD-3-Clause
// Where a host's threads add to their private rows (formats/blco/private_rows.hpp), and what comes before and
// after that: the output and the copies are zeroed, and the copies are added to the output.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/private_rows.hpp"
#include "formats/blco/touched_rows.hpp"
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

/// Where stretches add to a row: to their copy of a private row, to the output itself for any other.
template <class Scalar>
struct PrivateOutput {
  RowsAt<Scalar> output;         // I_n x R
  RowsAt<Scalar> copies;         // private rows of all stretches x R
  PrivateRows const* stretches;  // of this mode

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* copy(PrivateRows const& own, count_t row) const {
    return copies.row(own.slot + row - own.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(PrivateRows const& own, count_t row) const {
    return own.contain(row) ? copy(own, row) : output.row(row);
  }
  /// Where row 0 would be, were all rows like those of a stretch whose rows are alike.
  [[nodiscard]] RowsAt<Scalar> alike(PrivateRows const& own) const {
    if (own.count == 0) return output;
    return {copies.data + (own.slot - own.first) * copies.stride, copies.stride};
  }
};

/// Zeroes the output, a part a stretch, and the stretches' own copies.
template <class Space, class Scalar, int Block>
struct ClearPrivateOutput {
  using Row = TinyVec<Space, Scalar, Block, RowForm::simd>;
  PrivateOutput<Scalar> output;
  count_t rows;
  count_t stretches;
  ColumnBlocks blocks;

  void operator()(count_t s) const {
    Row const zero(Scalar(0));
    auto const clear = [&](RowsAt<Scalar> const& at, count_t first, count_t end) {
      for (count_t i = first; i < end; ++i)
        for (int b = 0; b < blocks.count; ++b)
          zero.store(at.row(i), Row::columns(blocks.first + b * Block, blocks.rank, 0));
    };
    clear(output.output, part(s), part(s + 1));
    PrivateRows const own = output.stretches[s];
    if (output.copies.data != nullptr) clear(output.copies, own.slot, own.slot + own.count);
  }
  /// Where part s of the output begins.
  [[nodiscard]] count_t part(count_t s) const {
    return rows / stretches * s + Kokkos::min(s, rows % stretches);
  }
};

/// Adds the copies of chunk c of the private rows to the output, stretch by stretch.
template <class Space, class Scalar, int Block>
struct MergePrivateRows {
  using Row                      = TinyVec<Space, Scalar, Block, RowForm::simd>;
  static constexpr count_t chunk = 64;  // rows: 16 KB of 32 doubles

  PrivateOutput<Scalar> output;
  RowRange rows;  // all private rows lie there
  count_t stretches;
  ColumnBlocks blocks;

  void operator()(count_t c) const {
    count_t const first = rows.first + c * chunk;
    count_t const end   = Kokkos::min(first + chunk, rows.last + 1);
    for (count_t s = 0; s < stretches; ++s) {
      PrivateRows const own = output.stretches[s];
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
                          count_t stretches, ColumnBlocks blocks) {
  Kokkos::parallel_for("polyad::clear_private_output",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, stretches),
                       ClearPrivateOutput<Space, Scalar, Block>{output, rows, stretches, blocks});
}

template <class Space, class Scalar, int Block>
void merge_private_rows(Space const& space, PrivateOutput<Scalar> const& output, count_t stretches,
                        ColumnBlocks blocks) {
  using Kernel = MergePrivateRows<Space, Scalar, Block>;
  RowRange merged;
  for (count_t s = 0; s < stretches; ++s) {
    PrivateRows const own = output.stretches[s];
    if (own.count > 0) merged.include(RowRange{own.first, own.first + own.count - 1});
  }
  if (merged.empty()) return;
  count_t const chunks = ceil_div(merged.last + 1 - merged.first, Kernel::chunk);
  Kokkos::parallel_for("polyad::merge_private_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks),
                       Kernel{output, merged, stretches, blocks});
}

}  // namespace polyad::detail
