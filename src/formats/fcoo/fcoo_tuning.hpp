// SPDX-License-Identifier: BSD-3-Clause
// What f-coo takes of a machine: the length of partitions, the threads of teams, how far a thread walks and
// how high SpTTMc's tiles are.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "formats/fcoo/flagged_nonzeros.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

static_assert(FCooShape().team_threads == device_team_threads);

/// Teams of more threads would leave a thread too few registers for its gathers (MttkrpSorted: 64 to 85).
inline constexpr int fcoo_most_threads = 256;

/// The threadlen for a tensor unless one is asked for: the default, but shorter on a device that would not
/// have two rounds of threads with it (8 lanes each, as for 32 floats).
template <class Space>
int automatic_threadlen(Space const& space, count_t nnz) {
  int threadlen = default_threadlen;
  while (is_device_space<Space> && threadlen > 16 &&
         nnz * 8 / static_cast<count_t>(threadlen) < 2 * static_cast<count_t>(space.concurrency()))
    threadlen /= 2;
  return threadlen;
}

/// Threads of a team that tuning tries (Liu et al., Figure 5). On a host a team is one thread.
template <class Space>
std::vector<int> fcoo_team_sizes() {
  if (is_device_space<Space>) return {32, 64, 128, 256};
  return {FCooShape().team_threads};
}

/// Whole partitions that a thread walks. On a device as many as Terms asks for, as long as there are two
/// threads for each that its multiprocessors hold; the team joins them. On a host a team is one thread, and
/// only the borders of its chunk pay for atomics, so that it is as long as balance allows.
template <class Terms, class Space>
count_t partitions_per_thread(Space const& space, count_t nnz, count_t threadlen, int column_blocks) {
  if constexpr (is_device_space<Space>) {
    // Threads that the multiprocessors hold of these.
    count_t const held  = multiprocessors(space) * Terms::resident_teams * fcoo_most_threads;
    count_t const lanes = nnz / threadlen * static_cast<count_t>(Terms::lanes * column_blocks);
    return std::clamp<count_t>(lanes / (2 * held), 1, Terms::most_partitions);
  } else {
    return ceil_div(chunk_length(space, nnz, 1), threadlen);
  }
}

/// Columns of the matrix before the last in a tile of SpTTMc. On a device as many as the last one's, which
/// the lanes share out; a host's thread takes the rows that its registers hold.
template <class Space>
constexpr int tile_height(int block, int rows) {
  return is_device_space<Space> ? block : rows;
}

/// Calls f with the block of a tile. A device's is as high as it is wide: the narrowest that holds the
/// columns of one of the two matrices, or 32. A host's rows are few, so it is the narrowest that holds the
/// last one's.
template <class Space, class F>
void with_tile_block(int before, int last, F&& f) {
  int const columns = is_device_space<Space> ? std::min(before, last) : last;
  with_block<8>(static_cast<count_t>(columns), f);
}

}  // namespace polyad::detail
