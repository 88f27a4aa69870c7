// SPDX-License-Identifier: BSD-3-Clause
// How the kernels that walk nonzeros divide their work. Every thread of a team owns a chunk of consecutive
// nonzeros (the paper's sub-block of NZPTM = 128) for one block of columns. Its vector lanes walk it
// together, each with its own part of the row in registers.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/core/spaces.hpp"
#include "polyad/kernel/device_chunks.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

/// The chunks of one launch: `chunk` items each, the last one shorter. Items are nonzeros; or rows, bins or
/// chunks of another kind.
struct ChunkWalk {
  count_t items;
  count_t chunk;  // a multiple of 4, so that packs of four positions are aligned
  ColumnBlocks blocks;
  bool by_block = false;  // all chunks of one block of columns come before those of the next

  /// The place of a thread in the launch: its number among the threads, and its first column.
  struct Place {
    count_t thread;
    int column;
  };

  /// Unless by_block, blocks of columns change fastest over the league: teams that run together read the same
  /// nonzeros.
  template <int Block, class Member>
  [[nodiscard]] KOKKOS_FUNCTION Place place(Member const& member) const {
    // In 32 bits, and only if there are blocks: every thread pays for these divisions.
    unsigned group = member.league_rank();
    unsigned block = 0;
    if (blocks.count > 1) {
      unsigned const count   = blocks.count;
      unsigned const divisor = by_block ? member.league_size() / count : count;
      unsigned const high    = group / divisor;
      unsigned const low     = group - high * divisor;
      block                  = by_block ? high : low;
      group                  = by_block ? low : high;
    }
    return {static_cast<count_t>(group) * member.team_size() + member.team_rank(),
            blocks.first + static_cast<int>(block) * Block};
  }

  /// Calls walk(begin, end, columns) on every lane that has columns, once for its thread's chunk.
  template <class Row, int Block, class Member, class Walk>
  KOKKOS_FUNCTION void operator()(Member const& member, Walk const& walk) const {
    Place const at      = place<Block>(member);
    count_t const begin = at.thread * chunk;
    if (begin >= items) return;
    count_t const end = Kokkos::min(items, begin + chunk);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(at.column, blocks.rank, lane);
      if (columns.count > 0) walk(begin, end, columns);
    });
  }

  /// The launch that covers all chunks and blocks with teams of `team` threads.
  [[nodiscard]] LaunchShape shape(int team, int vector) const {
    return {ceil_div(ceil_div(items, chunk), team) * blocks.count, team, vector};
  }

  /// Kokkos' policy of that launch for a kernel whose lanes hold Rows; Properties are Kokkos'.
  template <class Row, class... Properties, class Space>
  [[nodiscard]] TeamPolicy<Space, Properties...> policy(Space const& space) const {
    return team_policy<Properties...>(space, shape(team_threads<Space>(Row::lanes), Row::lanes));
  }
};

/// Nonzeros in a thread's chunk. On a host it is as long as balance allows (16 chunks per thread), since only
/// the first and last row of a chunk pay for atomics.
template <class Space>
count_t chunk_length(Space const& space, count_t nnz, int lanes) {
  count_t const threads = space.concurrency();
  if constexpr (is_device_space<Space>)
    return device_chunk(nnz, lanes, threads);
  else
    return Kokkos::max<count_t>(longest_device_chunk, nnz / (16 * threads) / 4 * 4);
}

}  // namespace polyad
