// SPDX-License-Identifier: BSD-3-Clause
// The parameters of f-coo on each machine: the length of partitions, their number per thread, the threads of
// teams, and the height of SpTTMc's tiles.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

static_assert(FCooShape().team_threads == device_team_threads);

/// In larger teams a thread would have too few registers for its gathers (`sorted`: 64 to 85).
inline constexpr int fcoo_most_threads = 256;

/// The threadlen for a tensor unless one is given. It is shorter than the default if a device would otherwise
/// have less than two rounds of threads (with 8 lanes each, as for 32 floats).
template <class Space>
int automatic_threadlen(Space const& space, count_t nnz) {
  int threadlen = default_threadlen;
  while (is_device_space<Space> && threadlen > 16 &&
         nnz * 8 / threadlen < 2 * static_cast<count_t>(space.concurrency()))
    threadlen /= 2;
  return threadlen;
}

/// Numbers of threads in a team that tuning tries (Liu et al., Figure 5). On a host a team is one thread.
template <class Space>
std::vector<int> fcoo_team_sizes() {
  if (is_device_space<Space>) return {32, 64, 128, 256};
  return {FCooShape().team_threads};
}

/// The whole partitions that a thread walks. On a device the number is Terms' maximum, or fewer: there must
/// be two threads for each one that its multiprocessors hold. The team joins the partitions of its threads.
/// On a host a team is one thread, and only the borders of its chunk need atomics. Its chunk is therefore as
/// long as balance allows.
template <class Terms, class Space>
count_t partitions_per_thread(Space const& space, count_t nnz, count_t threadlen, int column_blocks) {
  if constexpr (is_device_space<Space>) {
    // The threads of this kernel that the multiprocessors hold.
    count_t const held  = multiprocessors(space) * Terms::resident_teams * fcoo_most_threads;
    count_t const lanes = nnz / threadlen * (Terms::lanes * column_blocks);
    return std::clamp<count_t>(lanes / (2 * held), 1, Terms::most_partitions);
  } else {
    return ceil_div(chunk_length(space, nnz, 1), threadlen);
  }
}

/// The columns of the second last matrix in a tile of SpTTMc. On a device they are as many as the last
/// matrix's, and the lanes share them. On a host a thread takes as many rows as its registers hold.
template <class Space>
constexpr int tile_height(int block, int rows) {
  return is_device_space<Space> ? block : rows;
}

/// Calls f with the block of a tile. A device's tile is as high as it is wide. Its block is the narrowest
/// that holds the columns of one of the two matrices, or 32. A host's tile has few rows, so the block is the
/// narrowest that holds the columns of the last matrix.
template <class Space, class F>
void with_tile_block(int before, int last, F&& f) {
  int const columns = is_device_space<Space> ? std::min(before, last) : last;
  with_block<8>(columns, f);
}

}  // namespace polyad::detail
