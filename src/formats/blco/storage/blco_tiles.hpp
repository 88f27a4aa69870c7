// SPDX-License-Identifier: BSD-3-Clause
// A tile (the processing phase of BLCO, section 5.1.1): consecutive nonzeros that a team decodes into its
// scratch memory and groups by their row of V. The paper's tile is a warp's 32 nonzeros. Ours is as long as
// scratch memory allows. In a longer tile more nonzeros share a row, and an atomic row costs more than two
// gathered ones.
//
// Grouping is a counting sort by the lowest bits of the row: count, prefix sum, scatter. In ALTO's order a
// tile's rows are in a few boxes, so different rows rarely share these bits. If they do, their nonzeros are
// mixed within a bucket. Segments then end early, but the sums are still right.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>

#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/scratch_atomics.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// The shape of a launch over tiles.
struct TileShape {
  count_t tiles_per_team;
  int tile;             // nonzeros
  int chunk;            // nonzeros that one thread walks: tile / team
  int buckets;          // buckets of the counting sort, a power of two
  int spread;           // bits of a nonzero's position that go into its bucket, after the row's
  int team;             // threads
  int blocks_per_team;  // blocks of columns
  int stash_rows;       // 0: no stash
  int stash_stride;

  /// Bytes of scratch memory, if a nonzero takes `nonzero` bytes.
  [[nodiscard]] KOKKOS_FUNCTION count_t bytes(count_t nonzero, count_t scalar) const {
    return tile * nonzero + (buckets + team) * sizeof(unsigned) + stash_rows * (stash_stride * scalar) +
           row_alignment;  // the first array starts at a multiple of 16 bytes
  }
};

/// The shape for P nonzeros and a mode of `rows` rows. `tile` and `threads` are the caller's choice, or 0.
template <class Kernel, class Space>
TileShape tile_shape(Space const& space, count_t nnz, int order, count_t rows, ColumnBlocks blocks, int tile,
                     int threads) {
  constexpr int lanes    = Kernel::Row::lanes;
  count_t const nonzero  = Kernel::nonzero_bytes(order);
  count_t const resident = teams_at_a_time(space, Kernel::resident_teams);
  // At least two rounds of teams: with fewer, much of the device would be idle in the last round.
  if (tile == 0) tile = static_cast<int>(std::min<count_t>(usual_tile<Space>, nnz / (2 * resident)));
  tile = std::min(tile, 1 << 16);  // more than scratch memory holds
  if (threads == 0) threads = blco_team_threads;
  threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(threads)));

  TileShape shape{};
  shape.stash_rows     = Kernel::has_stash ? static_cast<int>(rows) : 0;
  shape.stash_stride   = Kernel::Block;
  shape.team           = std::max(1, team_threads<Space>(lanes, threads));
  auto const set_chunk = [&](int chunk) {
    shape.chunk = chunk;
    shape.tile  = chunk * shape.team;
    shape.buckets =
        std::max(shape.team, static_cast<int>(std::bit_ceil(static_cast<unsigned>(shape.tile) * 3 / 4)));
  };
  // A chunk has 8 (mod 16) nonzeros, a multiple of a pack of four. The four threads of a warp then read from
  // different banks.
  set_chunk(std::max(8, (tile / shape.team - 8) / 16 * 16 + 8));
  while (shape.bytes(nonzero, sizeof(typename Kernel::Scalar)) > team_scratch<Space>()) {
    if (shape.chunk == 8) {
      if (shape.team == 1) break;  // Kokkos reports that it does not fit: 8 nonzeros of order 16 take 1.2 KB
      shape.team /= 2;
      set_chunk(8);
    } else {
      set_chunk(shape.chunk - 16);
    }
  }
  // With few rows, neighbours in a warp count in different buckets. Otherwise their atomics would wait for
  // each other.
  shape.spread = std::clamp(bits_for(shape.buckets) - bits_for(rows), 0, 5);

  count_t const tiles   = ceil_div(nnz, shape.tile);
  shape.tiles_per_team  = Kernel::has_stash ? ceil_div(tiles, std::min(tiles, resident)) : 1;
  shape.blocks_per_team = Kernel::has_stash || tiles < 2 * resident ? 1 : blocks.count;
  return shape;
}

/// A team's tile in its scratch memory.
template <class Scalar, class Index>
class TileScratch {
public:
  template <class Member>
  KOKKOS_FUNCTION TileScratch(Member const& member, TileShape const& shape, int order)
      : m_shape(shape),
        m_order(order),
        m_values(static_cast<Scalar*>(member.team_scratch(0).get_shmem_aligned(
            shape.bytes(sizeof(Scalar) + order * sizeof(Index), sizeof(Scalar)) - row_alignment,
            row_alignment))) {}

  [[nodiscard]] KOKKOS_FUNCTION Scalar* values() const { return m_values; }
  /// Array 0 holds the rows of V, the next ones the indices of the other modes, in their order.
  [[nodiscard]] KOKKOS_FUNCTION Index* indices(int array) const {
    return reinterpret_cast<Index*>(m_values + m_shape.tile) + array * m_shape.tile;
  }
  /// stash_rows x stash_stride
  [[nodiscard]] KOKKOS_FUNCTION Scalar* stash() const { return reinterpret_cast<Scalar*>(indices(m_order)); }
  /// One per bucket.
  [[nodiscard]] KOKKOS_FUNCTION unsigned* counts() const {
    return reinterpret_cast<unsigned*>(stash() + m_shape.stash_rows * m_shape.stash_stride);
  }
  /// One per thread.
  [[nodiscard]] KOKKOS_FUNCTION unsigned* sums() const { return counts() + m_shape.buckets; }

private:
  TileShape const& m_shape;
  int m_order;
  Scalar* m_values;  // the first array; pointers to the others would take registers
};

/// Decodes the nonzeros begin ... begin + count - 1 into the tile, grouped by their index of `mode`. Every
/// thread of the team calls it; it ends with a barrier.
template <class Member, class Scalar, class Index>
KOKKOS_FUNCTION void load_tile(Member const& member, BlcoNonzeros<Scalar, Index> const& nonzeros,
                               count_t begin, int count, int mode, TileShape const& shape,
                               TileScratch<Scalar, Index> const& scratch) {
  auto const bucket = [&](Index row, int i) {
    auto const position = static_cast<unsigned>(i) & ((1U << shape.spread) - 1U);
    return (static_cast<unsigned>(row) << shape.spread | position) &
           (static_cast<unsigned>(shape.buckets) - 1U);
  };
  unsigned* const counts = scratch.counts();
  Kokkos::parallel_for(Kokkos::TeamVectorRange(member, shape.buckets), [&](int b) { counts[b] = 0; });
  member.team_barrier();
  Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count), [&](int i) {
    count_t const p = begin + i;
    // The team's other threads may count in the same bucket.
    scratch_add(&counts[bucket(nonzeros.index(p, nonzeros.block_of(p), mode), i)], 1U);
  });
  member.team_barrier();

  // Turns counts into positions: every thread scans its own buckets, starting from the sum of the threads
  // before it. Kokkos' team_scan is not usable on CUDA (Kokkos 4.7). It assumes that 32 threads of a team are
  // one warp, but here each thread has several lanes.
  int const own   = shape.buckets / member.team_size();
  int const first = own * member.team_rank();
  unsigned sum    = 0;
  Kokkos::parallel_reduce(
      Kokkos::ThreadVectorRange(member, own), [&](int b, unsigned& s) { s += counts[first + b]; }, sum);
  Kokkos::single(Kokkos::PerThread(member), [&] { scratch.sums()[member.team_rank()] = sum; });
  member.team_barrier();
  unsigned before = 0;
  Kokkos::parallel_reduce(
      Kokkos::ThreadVectorRange(member, member.team_rank()),
      [&](int t, unsigned& s) { s += scratch.sums()[t]; }, before);
  Kokkos::parallel_scan(Kokkos::ThreadVectorRange(member, own), [&](int b, unsigned& position, bool final) {
    unsigned const counted = counts[first + b];
    if (final) counts[first + b] = before + position;
    position += counted;
  });
  member.team_barrier();

  Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count), [&](int i) {
    count_t const p     = begin + i;
    count_t const block = nonzeros.block_of(p);
    Scalar const value  = nonzeros.values[p];
    // The team's other threads may take places in the same bucket.
    unsigned const position = scratch_fetch_add(&counts[bucket(nonzeros.index(p, block, mode), i)], 1U);
    nonzeros.for_each_index(p, block, [&](int n, Index index) {
      int const array                  = n == mode ? 0 : n < mode ? n + 1 : n;
      scratch.indices(array)[position] = index;
    });
    scratch.values()[position] = value;
  });
  member.team_barrier();
}

}  // namespace polyad::detail
