// SPDX-License-Identifier: BSD-3-Clause
// The sums that the threads of a team add to the output together. Where the output's rows are much longer than a thread's
// chunk, nearly every chunk ends in a row that its neighbours add to as well: so many atomic additions to a few rows wait
// for each other. A team's threads leave these sums in its scratch memory instead, and one of them adds up those of a row,
// which stand side by side, before it touches the output.
//
// H200, uber-apr14 of data/ (416,000 nonzeros, R = 128, doubles, a mode of 30 rows): see docs/design-notes.md.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>

#include "polyad/formats/chunk_walk.hpp"

namespace polyad {

/// Where a thread leaves the sum of the last row of its chunk. Every lane that has columns says the same, once.
template <class Scalar, class Index>
struct TeamSum {
  static constexpr Index no_row = std::numeric_limits<Index>::max();

  Index* row   = nullptr;  // null: the thread adds to the output by itself
  Scalar* sum  = nullptr;  // a block of columns
  int first    = 0;        // of these columns

  [[nodiscard]] KOKKOS_FUNCTION bool is_wanted() const { return row != nullptr; }
  template <class Row>
  KOKKOS_FUNCTION void leave(Index to, Row const& of, Columns columns) const {
    *row = to;
    of.store(sum, Columns{columns.first - first, columns.count});
  }
  KOKKOS_FUNCTION void leave_nothing() const {
    if (row != nullptr) *row = no_row;
  }
};

/// Whether a row of the output has four chunks and more, on average.
template <class Space>
[[nodiscard]] bool chunks_share_rows(count_t chunks, count_t rows) {
  return is_device_space<Space> && chunks >= 4 * rows;
}

/// The chunks' policy, with scratch memory for a team's rows and sums where they are added `together`.
template <class Row, int Block, class Scalar, class Index, class... Properties, class Space>
[[nodiscard]] auto policy_with_team_sums(Space const& space, ChunkWalk const& chunks, bool together) {
  auto policy = chunks.template policy<Row, Properties...>(space);
  if constexpr (is_device_space<Space>) {
    constexpr int threads = device_team_threads / Row::lanes;
    constexpr int bytes   = threads * (Block * sizeof(Scalar) + sizeof(Index)) + 32;  // with what aligning them takes
    if (together) policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  }
  return policy;
}

/// `chunks` walked by walk(begin, end, columns, sum), where `sum` is a TeamSum: with `together` the sums that the threads
/// leave there are added to the rows of `output`, otherwise nothing may be left. Other teams add to these rows too.
template <class Row, int Block, class Index, class Member, class Scalar, class Walk>
KOKKOS_FUNCTION void walk_with_team_sums(ChunkWalk const& chunks, Member const& member, bool together, Scalar* output,
                                         count_t stride, Walk const& walk) {
  using Sum = TeamSum<Scalar, Index>;
  if constexpr (!is_device_space<typename Member::execution_space>) {  // a team is one thread
    chunks.template operator()<Row, Block>(
        member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns, Sum{}); });
  } else {
    int const thread = member.team_rank();
    Sum own;
    Scalar* sums = nullptr;
    Index* rows  = nullptr;
    if (together) {
      constexpr int alignment = 16;  // of packed rows
      auto const threads      = static_cast<std::size_t>(member.team_size());
      auto const& scratch     = member.team_scratch(0);
      sums = static_cast<Scalar*>(scratch.get_shmem_aligned(threads * Block * sizeof(Scalar), alignment));
      rows = static_cast<Index*>(scratch.get_shmem_aligned(threads * sizeof(Index), alignment));
      auto const at = chunks.template place<Block>(member);
      own           = {rows + thread, sums + thread * Block, at.column};
      if (at.thread * chunks.chunk >= chunks.nnz) own.leave_nothing();
    }
    chunks.template operator()<Row, Block>(
        member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns, own); });
    if (!together) return;
    member.team_barrier();
    Index const row = rows[thread];
    if (row == Sum::no_row || (thread > 0 && rows[thread - 1] == row)) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(own.first, chunks.blocks.rank, lane);
      if (columns.count <= 0) return;
      Columns const here{columns.first - own.first, columns.count};
      Row sum(own.sum, here);
      for (int t = thread + 1; t < member.team_size() && rows[t] == row; ++t) sum += Row(sums + t * Block, here);
      sum.atomic_add_to(output + static_cast<count_t>(row) * stride, columns);  // other teams add to it too
    });
  }
}

}  // namespace polyad
