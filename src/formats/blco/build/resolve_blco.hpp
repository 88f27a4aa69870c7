// SPDX-License-Identifier: BSD-3-Clause
// Chooses the resolution of a mode's conflicts (formats/blco/storage/blco_resolution.hpp) by the resources of
// the machine.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/blco/build/find_long_rows.hpp"
#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_resolution.hpp"
#include "kernel/piece_sums.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

template <class Scalar, class Index>
struct FindTouchedRowsOfChunks {
  BlcoNonzeros<Scalar, Index> nonzeros;
  count_t chunks;
  RowRange* touched;  // N x chunks

  KOKKOS_FUNCTION void operator()(count_t chunk) const {
    RowRange ranges[max_order];
    count_t const end = chunk_begin(nonzeros.nnz, chunks, chunk + 1);
    for (count_t p = chunk_begin(nonzeros.nnz, chunks, chunk); p < end; ++p)
      nonzeros.for_each_index(p, nonzeros.block_of(p), [&](int n, Index index) { ranges[n].include(index); });
    for (int n = 0; n < nonzeros.encoding.order(); ++n) touched[n * chunks + chunk] = ranges[n];
  }
};

/// Calls visit(p, row) for the nonzeros of a chunk in their order.
template <class Scalar, class Index, class Visit>
void visit_rows_of_chunk(BlcoNonzeros<Scalar, Index> const& nonzeros, count_t chunks, count_t chunk, int mode,
                         Visit const& visit) {
  count_t const end = chunk_begin(nonzeros.nnz, chunks, chunk + 1);
  count_t p         = chunk_begin(nonzeros.nnz, chunks, chunk);
  for (count_t block = nonzeros.block_of(p); p < end; ++block)
    for (count_t const stop = std::min(end, nonzeros.begins[block + 1]); p < stop; ++p)
      visit(p, nonzeros.index(p, block, mode));
}

template <class Space>
template <class Scalar, class Index>
BlcoChunks<Space>::BlcoChunks(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros) {
  if (nonzeros.nnz == 0) return;
  int const order      = nonzeros.encoding.order();
  count_t const chunks = private_chunks(space, nonzeros.nnz);
  Kokkos::View<RowRange**, Kokkos::LayoutRight, typename Space::device_type> const touched(
      uninitialized(space, "polyad::blco_touched"), order, chunks);
  Kokkos::parallel_for("polyad::blco_touched_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks),
                       FindTouchedRowsOfChunks<Scalar, Index>{nonzeros, chunks, touched.data()});
  m_private = PrivateRowTable<Space>(space, order, chunks);
  for (int n = 0; n < order; ++n) m_private.enter(space, n, Kokkos::subview(touched, n, Kokkos::ALL));
  if constexpr (sums_in_pieces<Scalar> && BlcoStrategy<Space>::has_chunks) {
    space.fence("polyad::blco_touched_rows");
    m_long_rows = LongRowStops<Space>(order);
    for (int n = 0; n < order; ++n)
      m_long_rows.enter(n, find_long_rows(
                               space, Kokkos::subview(touched, n, Kokkos::ALL), terms_of_a_piece,
                               [&](count_t chunk) {
                                 return chunk_begin(nonzeros.nnz, chunks, chunk + 1) -
                                        chunk_begin(nonzeros.nnz, chunks, chunk);
                               },
                               [&](count_t chunk, auto const& visit) {
                                 visit_rows_of_chunk(nonzeros, chunks, chunk, n, visit);
                               }));
  }
}

template <class Space>
BlcoResolution::BlcoResolution(Space const& space, Resolution wanted, count_t rows, count_t scalar_bytes,
                               count_t nnz, BlcoChunks<Space> const& chunks, int mode) {
  // A quarter of the scratch memory is left for the tile.
  bool const stash_fits   = rows <= team_scratch<Space>() * 3 / 4 / (scalar_bytes * full_block);
  bool const has_chunks   = chunks.count() > 0;
  count_t const of_chunks = chunks.copied_rows(mode);
  kind                    = wanted;
  if (wanted == Resolution::automatic) {
    if (has_chunks)
      kind = of_chunks <= most_private_rows(nnz) ? Resolution::privatised : Resolution::registers;
    else
      kind = rows < multiprocessors(space) ? Resolution::hierarchical : Resolution::registers;
  }
  if (kind == Resolution::hierarchical && !stash_fits) kind = Resolution::registers;
  copies =
      kind == Resolution::hierarchical || (kind == Resolution::privatised && !has_chunks) ? blco_copies : 0;
  copied_rows = copies > 0 ? checked_product("the copies of V", copies, rows)
                           : (kind == Resolution::privatised ? of_chunks : 0);
  is_chunked  = kind == Resolution::privatised && has_chunks;
}

}  // namespace polyad::detail
