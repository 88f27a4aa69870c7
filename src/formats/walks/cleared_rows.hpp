// SPDX-License-Identifier: BSD-3-Clause
// The rows of an output that must be zero before a walk: those that no thread stores as a whole. A format
// lists them when it is built, and its mttkrp zeroes them instead of the whole output.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// One byte per row of the output: not 0 if a thread stores the row as a whole.
template <class Space>
using RowFlags = Kokkos::View<unsigned char*, typename Space::device_type>;

template <class Flags, class Rows>
struct ListUnflagged {
  Flags flags;
  Rows list;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& position, bool final) const {
    if (flags(i) != 0) return;
    if (final && list.extent(0) > 0) list(position) = static_cast<typename Rows::value_type>(i);
    ++position;
  }
};

/// The rows that are not flagged, in increasing order. Waits for `space`.
/// \throws MemoryError
template <class Index, class Space>
Kokkos::View<Index*, typename Space::device_type> list_unflagged(Space const& space,
                                                                 RowFlags<Space> const& flags) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Rows  = Kokkos::View<Index*, typename Space::device_type>;
  detail::ListUnflagged<RowFlags<Space>, Rows> list{flags, {}};
  count_t unflagged = 0;
  Kokkos::parallel_scan("polyad::count_cleared_rows", Range(space, 0, flags.extent(0)), list, unflagged);
  space.fence("polyad::list_unflagged");
  expect_fits(space, "the rows to be cleared", unflagged, sizeof(Index));
  list.list = Rows(uninitialized(space, "polyad::cleared_rows"), unflagged);
  Kokkos::parallel_scan("polyad::list_cleared_rows", Range(space, 0, flags.extent(0)), list, unflagged);
  space.fence("polyad::list_unflagged");
  return list.list;
}

/// Zeroes the listed rows of the output.
template <class Space, class Scalar, class Index, int Block>
struct ClearRows {
  using Row = TinyVec<Space, Scalar, Block>;
  Index const* rows;
  RowsAt<Scalar> output;
  ChunkWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      Row const zero(Scalar(0));
      for (count_t i = begin; i < end; ++i) zero.store(output.row(rows[i]), columns);
    });
  }
};

/// Zeroes the listed rows of V, in the columns of `blocks`. The other rows are those that a thread stores
/// whole afterwards.
template <class Space, class Scalar, class Index, int Block>
void clear_rows(Space const& space, Kokkos::View<Index*, typename Space::device_type> const& rows,
                ColumnBlocks blocks, FactorMatrix<Scalar, Space> const& V) {
  if (rows.extent(0) == 0) return;
  // If most rows are listed, as for a mode in which most are empty, one pass over all of V is faster. If rows
  // are packed, `blocks` are all columns.
  if (takes_packed_rows<Space> && rows.extent(0) > V.extent(0) / 2) return zero_matrix(space, V);
  using Kernel = ClearRows<Space, Scalar, Index, Block>;
  // Four rows per thread: enough stores under way, and enough threads for short lists.
  ChunkWalk const chunks{rows.extent(0), items_per_thread<Space>(4, 1024), blocks};
  detail::launch("polyad::clear_rows", chunks.template policy<typename Kernel::Row>(space),
                 Kernel{rows.data(), RowsAt<Scalar>(V), chunks});
}

}  // namespace polyad::detail
