// SPDX-License-Identifier: BSD-3-Clause
// BLCO's MTTKRP over tiles (BLCO, section 5), and its residual sweep
// (formats/blco/kernels/nonzero_terms.hpp). A team takes some tiles of nonzeros:
//
//   processing phase (section 5.1.1)                              load_tile() (storage/blco_tiles.hpp)
//     load linear indices and values, coalesced
//     de-linearise them; group the tile's nonzeros by their row k of V: histogram and prefix sum
//   computing phase (section 5.1.2)                               walk_tile()
//     each thread, over its chunk of the grouped nonzeros         walk()
//       p = x * the other modes' rows                             add()
//       sum += p in registers while k stays the same              SegmentedSum
//       at a segment's end, conflicts are resolved:
//         register-based (5.2): V(k, :) += sum with atomics       AddAtomically
//         privatised (ours): the same, to one of several copies of V
//         hierarchical (5.1): stash(k, :) += sum, with atomics    AddToStash, in scratch memory
//         of scratch memory; the stash has all rows of V
//   at the team's end the stash is added to a copy of V           flush_stash()
//
// The copies of V are summed at the end (formats/blco/kernels/mttkrp_blco_chunks.hpp). Bytes per nonzero: 8 +
// s_r for the nonzero, streamed (the linear index twice), (N - 1) R s_r gathered, and an atomic row of R s_r
// for every segment that a thread ends. Flops: N R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_tiles.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/segmented_reduce.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order, bool Stash, class Term>
struct MttkrpBlcoTiles {
  using Row                       = Vec;
  using Scalar                    = typename Row::scalar_type;
  static constexpr int Block      = Row::block;
  static constexpr bool has_stash = Stash;
  /// Teams of 256 threads that a multiprocessor should hold, limited by registers: 64 per thread are enough
  /// for doubles (two columns per lane), 80 for floats (four). An unknown order needs 128.
  static constexpr int resident_teams = Order == any_order                           ? 2
                                        : sizeof(Scalar) == sizeof(double) && !Stash ? 4
                                                                                     : 3;
  /// Scratch memory per nonzero.
  static count_t nonzero_bytes(int order) { return sizeof(Scalar) + order * sizeof(Index); }

  /// Nonzeros gathered at the same time: four would spill registers.
  static constexpr int batch = rows_in_flight<typename Row::space_type>(2);

  BlcoNonzeros<Scalar, Index> nonzeros;
  OtherFactors<Scalar, Order> factors;
  int mode;
  TileShape shape;
  ColumnBlocks blocks;
  Scalar* output;  // V, or copies of it one after the other
  count_t output_stride;
  count_t copies;  // copies of V
  count_t rows;    // I_n
  Term term;

  /// Adds the nonzeros i ... i + Count - 1 of the tile.
  template <int Count, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(TileScratch<Scalar, Index> const& scratch, int i,
                                       SegmentedSum<Row, Index>& segment, Columns columns,
                                       Flush const& flush) const {
    using Indices  = Pack<Index, Count>;
    auto const row = *reinterpret_cast<Indices const*>(scratch.indices(0) + i);
    auto const x   = *reinterpret_cast<Pack<Scalar, Count> const*>(scratch.values() + i);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(term.first_factor(x.element[u]));
    for (int m = 0; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(scratch.indices(m + 1) + i);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    for (int u = 0; u < Count; ++u) {
      KOKKOS_ASSERT(row.element[u] < rows);
    }
    for (int u = 0; u < Count; ++u) term.complete(product[u], x.element[u], row.element[u], columns);
    for (int u = 0; u < Count; ++u) segment.add(row.element[u], product[u], flush);
  }

  template <class Flush>
  KOKKOS_FUNCTION void walk(TileScratch<Scalar, Index> const& scratch, int begin, int end, Columns columns,
                            Flush const& flush) const {
    SegmentedSum<Row, Index> segment(scratch.indices(0)[begin]);
    int i = begin;
    for (; i + batch <= end; i += batch) add<batch>(scratch, i, segment, columns, flush);
    for (; i < end; ++i) add<1>(scratch, i, segment, columns, flush);
    segment.finish(flush);
  }

  /// The computing phase of one tile for one block of columns.
  template <class Member>
  KOKKOS_FUNCTION void walk_tile(Member const& member, TileScratch<Scalar, Index> const& scratch, int count,
                                 int first_column) const {
    int const begin = member.team_rank() * shape.chunk;
    int const end   = Kokkos::min(count, begin + shape.chunk);
    if (begin >= end) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Term::is_residual ? columns_or_none<Row>(0, blocks.rank, lane)
                                                : Row::columns(first_column, blocks.rank, lane);
      if (!Term::is_residual && columns.count <= 0) return;
      if constexpr (Stash) {
        Columns const own{columns.first - first_column, columns.count};
        walk(scratch, begin, end, columns, AddToStash<Scalar>{scratch.stash(), Block, own});
      } else {
        walk(scratch, begin, end, columns,
             AddAtomically<Scalar>{copy(member), output_stride, columns, lane, blocks.rank - first_column});
      }
    });
  }

  /// Adds the stash's rows to the team's copy of V. Other teams add to it as well.
  template <class Member>
  KOKKOS_FUNCTION void flush_stash(Member const& member, TileScratch<Scalar, Index> const& scratch,
                                   int first_column) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, shape.stash_rows), [&](int row) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const columns = Row::columns(first_column, blocks.rank, lane);
        if (columns.count <= 0) return;
        Row const sum(scratch.stash() + row * Block, {columns.first - first_column, columns.count});
        sum.atomic_add_to(copy(member) + row * output_stride, columns);
      });
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Blocks of columns change fastest over the league. Teams that run together then read the same nonzeros.
    count_t const team        = member.league_rank();
    count_t const block_teams = blocks.count / shape.blocks_per_team;
    int const first_column =
        blocks.first + static_cast<int>(team % block_teams) * shape.blocks_per_team * Block;
    count_t const tile  = shape.tile;
    count_t const begin = team / block_teams * shape.tiles_per_team * tile;
    count_t const end   = Kokkos::min(nonzeros.nnz, begin + shape.tiles_per_team * tile);
    TileScratch<Scalar, Index> const scratch(member, shape, nonzeros.encoding.order());

    if constexpr (Stash)
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, shape.stash_rows * Block),
                           [&](int i) { scratch.stash()[i] = Scalar(0); });
    for (count_t p = begin; p < end; p += tile) {
      int const count = static_cast<int>(Kokkos::min(end - p, tile));
      load_tile(member, nonzeros, p, count, mode, shape, scratch);
      for (int b = 0; b < shape.blocks_per_team; ++b)
        walk_tile(member, scratch, count, first_column + b * Block);
      member.team_barrier();  // before the next tile overwrites this one
    }
    if constexpr (Stash) flush_stash(member, scratch, first_column);
  }

private:
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION Scalar* copy(Member const& member) const {
    return output + member.league_rank() % copies * rows * output_stride;
  }
};

}  // namespace polyad::detail
