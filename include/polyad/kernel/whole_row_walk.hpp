// SPDX-License-Identifier: BSD-3-Clause
// WholeRowWalk divides the work of kernels that need dot products of whole rows. As with ChunkWalk
// (kernel/chunk_walk.hpp), a thread of a team owns a chunk of consecutive nonzeros, and its vector lanes walk
// it together. But all lanes take part in every step, including those right of column R, because the kernels
// sum across the lanes (kernel/lanes.hpp). The same thread reads a long row block by block.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/spaces.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

/// A lane's columns of the block that starts at column `first`. A lane without columns gets count 0 and a
/// valid place to read a pack from.
template <class Row>
KOKKOS_FORCEINLINE_FUNCTION Columns columns_or_none(int first, int rank, int lane) {
  Columns const columns = Row::columns(first, rank, lane);
  return columns.count > 0 ? columns : Columns{0, 0};
}

struct WholeRowWalk {
  count_t nnz;
  count_t chunk;

  /// Calls walk(begin, end, lane) on every lane of the threads that have a chunk.
  template <class Row, class Member, class Walk>
  KOKKOS_FUNCTION void operator()(Member const& member, Walk const& walk) const {
    count_t const begin = first_of(member);
    if (begin >= nnz) return;
    count_t const end = Kokkos::min(nnz, begin + chunk);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes),
                         [&](int const lane) { walk(begin, end, lane); });
  }

  /// The first nonzero of a thread's chunk. A thread without a chunk gets a number of nnz or above.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION count_t first_of(Member const& member) const {
    count_t const league = member.league_rank();
    count_t const thread = league * member.team_size() + member.team_rank();
    return thread * chunk;
  }

  [[nodiscard]] count_t chunks() const { return ceil_div(nnz, chunk); }

  /// Kokkos' policy of the launch for a kernel whose lanes hold Rows.
  template <class Row, class... Properties, class Space>
  [[nodiscard]] TeamPolicy<Space, Properties...> policy(Space const& space) const {
    int const team = team_threads<Space>(Row::lanes);
    return team_policy<Properties...>(space, LaunchShape{ceil_div(chunks(), team), team, Row::lanes});
  }
};

}  // namespace polyad
