// SPDX-License-Identifier: BSD-3-Clause
// Team sums: the threads of a team combine the sums at the ends of their chunks before they add them to the
// output. If a row of the output has hundreds of chunks, their atomics to that row wait for each other.
// Therefore each thread leaves its last sum in the team's scratch memory. Sums of the same row are then side
// by side, and one thread adds them up and performs a single atomic addition.
//
// The gain, and the cases where the cost is higher: docs/developer/decisions.md.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>
#include <type_traits>

#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/device_chunks.hpp"
#include "polyad/kernel/row_form.hpp"

namespace polyad {

/// The policy without team sums: every thread adds the sum at the end of its chunk to the output itself.
struct NoTeamSum {
  static constexpr bool is_wanted = false;
  KOKKOS_FUNCTION void leave_nothing() const {}
};

/// A thread's place for the sum at the end of its chunk, in the team's scratch memory. Each lane stores its
/// own columns once, and all lanes store the same row number.
template <class Scalar, class Index>
struct TeamSum {
  static constexpr bool is_wanted = true;
  static constexpr Index no_row   = std::numeric_limits<Index>::max();

  Index* row;
  Scalar* sum;  // a block of columns
  int first;    // the first of these columns

  template <class Row>
  KOKKOS_FUNCTION void leave(Index to, Row const& of, Columns columns) const {
    *row = to;
    of.store(sum, here(columns));
  }
  KOKKOS_FUNCTION void leave_nothing() const { *row = no_row; }
  [[nodiscard]] KOKKOS_FUNCTION Columns here(Columns columns) const {
    return {columns.first - first, columns.count};
  }
};

/// Whether rows of this form have team sums. Strided rows have none, since they are rare.
template <class Space, RowForm Form = row_form<Space>>
inline constexpr bool has_team_sums = Form == RowForm::packed;

/// Calls f(std::true_type) if `chunks` is so large compared with `rows` that team sums pay, and
/// f(std::false_type) otherwise.
template <class Space, class Scalar, RowForm Form = row_form<Space>, class F>
void with_team_sums(count_t chunks, count_t rows, F&& f) {
  if constexpr (has_team_sums<Space, Form>)
    if (chunks > 0 && chunks >= chunks_of_a_long_row(sizeof(Scalar)) * rows) return f(std::true_type{});
  f(std::false_type{});
}

/// Requests the scratch memory for a team's sums and their row numbers.
template <class Row, int Block, class Scalar, class Index, class Policy>
void reserve_team_sums(Policy& policy) {
  constexpr int threads = device_team_threads / Row::lanes;
  constexpr int bytes =
      threads * int(Block * sizeof(Scalar) + sizeof(Index)) + 32;  // with what aligning them takes
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
}

/// The policy of the chunks, with scratch memory for team sums if they are added Together.
template <bool Together, class Row, int Block, class Scalar, class Index, class... Properties, class Space>
[[nodiscard]] auto policy_with_team_sums(Space const& space, ChunkWalk const& chunks) {
  auto policy = chunks.template policy<Row, Properties...>(space);
  if constexpr (Together) reserve_team_sums<Row, Block, Scalar, Index>(policy);
  return policy;
}

/// Calls walk(sum) on every thread of the team, where `sum` is its TeamSum. The sums left there are then
/// added to the rows of `output`.
/// \param has_items  whether this thread walks anything; otherwise its walk leaves no sum
/// \param columns  the first column of the thread's block, and the number of columns of all blocks
template <class Row, int Block, class Index, class Member, class Scalar, class Walk>
KOKKOS_FUNCTION void walk_with_team_sum(Member const& member, bool has_items, Columns columns, Scalar* output,
                                        count_t stride, Walk const& walk) {
  using Sum                 = TeamSum<Scalar, Index>;
  constexpr int alignment   = 16;  // rows are packed
  int const thread          = member.team_rank();
  std::size_t const threads = member.team_size();
  auto const& scratch       = member.team_scratch(0);
  auto* const sums =
      static_cast<Scalar*>(scratch.get_shmem_aligned(threads * Block * sizeof(Scalar), alignment));
  auto* const rows = static_cast<Index*>(scratch.get_shmem_aligned(threads * sizeof(Index), alignment));
  Sum const own{rows + thread, sums + thread * Block, columns.first};
  if (!has_items) own.leave_nothing();
  walk(own);
  member.team_barrier();
  Index const row = rows[thread];
  if (row == Sum::no_row || (thread > 0 && rows[thread - 1] == row)) return;
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
    Columns const of_lane = Row::columns(own.first, columns.count, lane);
    if (of_lane.count <= 0) return;
    Row sum(own.sum, own.here(of_lane));
    for (int t = thread + 1; t < member.team_size() && rows[t] == row; ++t)
      sum += Row(sums + t * Block, own.here(of_lane));
    sum.atomic_add_to(output + row * stride, of_lane);  // other teams add to it too
  });
}

/// Walks the chunks by walk(begin, end, columns, sum). With Together `sum` is a TeamSum, and the sums left
/// there are then added to the rows of `output`. Otherwise it is a NoTeamSum.
template <bool Together, class Row, int Block, class Index, class Member, class Scalar, class Walk>
KOKKOS_FUNCTION void walk_with_team_sums(ChunkWalk const& chunks, Member const& member, Scalar* output,
                                         count_t stride, Walk const& walk) {
  auto const walk_chunk = [&](auto const& sum) {
    chunks.template operator()<Row, Block>(
        member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns, sum); });
  };
  if constexpr (!Together) {
    walk_chunk(NoTeamSum{});
  } else {
    auto const at = chunks.template place<Block>(member);
    walk_with_team_sum<Row, Block, Index>(member, at.thread * chunks.chunk < chunks.items,
                                          {at.column, chunks.blocks.rank}, output, stride, walk_chunk);
  }
}

}  // namespace polyad
