// SPDX-License-Identifier: BSD-3-Clause
// The one-shot product of F-COO (Liu et al., section IV). It forms a nonzero's product over all product modes
// at once and sums the products by segment, without an intermediate tensor. The operation defines the
// product: Hadamard for SpMTTKRP and SpTTM (hadamard_terms.hpp), Kronecker for SpTTMc (kronecker_terms.hpp).
//
//   each thread, over its partitions of `threadlen` nonzeros      walk()
//     product of the nonzero                                      Terms::add()
//     bit flag: the segment ends here, so its sum is stored       Terms::add() calls flush()
//     no start flag: the first sum belongs to a segment that      flush(): is_head, kept in scratch memory
//     an earlier thread began
//   the team, in place of the paper's segmented scan: the thread  operator(), after the barrier: heads.join()
//   in which a segment began adds the heads after it
//   what crosses the team's borders is added with atomics         Terms::add_to()
//
// A thread is a group of vector lanes that hold a row of the output in registers. The walk is not WalkInOrder
// (formats/walks/walk_in_order.hpp): bits say where a segment ends, so no row is read for a nonzero.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>

#include "formats/fcoo/costs/fcoo_tuning.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/segmented_reduce.hpp"

namespace polyad::detail {

/// \throws UsageError
inline void expect_shape(FCooShape const& shape) {
  int const threads = shape.team_threads;
  POLYAD_EXPECTS(threads == 32 || threads == 64 || threads == 128 || threads == 256,
                 "a team has 32, 64, 128 or 256 threads, not ", threads);
}

/// The flags of the nonzeros, as a kernel sees them.
template <class Index>
struct FlaggedSegments {
  std::uint64_t const* flags;
  std::uint32_t const* starts;
  Index const* first_segment;
  Index const* rows;  // output row of every segment; null: a segment's row has its number
  int threadlen;

  template <class Scalar, class Space>
  explicit FlaggedSegments(FlaggedNonzeros<Scalar, Index, Space> const& X)
      : flags(X.flags.data()),
        starts(X.starts.data()),
        first_segment(X.first_segment.data()),
        rows(X.rows == FCooRows::of_mode ? X.coordinates.data() : nullptr),
        threadlen(X.threadlen) {}

  [[nodiscard]] KOKKOS_FUNCTION count_t partition(count_t nonzero) const {
    return nonzero / static_cast<unsigned>(threadlen);
  }
  [[nodiscard]] KOKKOS_FUNCTION bool begins(count_t q) const { return (starts[q / 32] >> q % 32 & 1U) != 0; }
  [[nodiscard]] KOKKOS_FUNCTION Index row(Index segment) const {
    return rows == nullptr ? segment : rows[segment];
  }
  /// Bit b: whether a segment ends with nonzero p + b. Nonzeros of one partition share a word.
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t ends(count_t p) const { return ~flags[p / 64] >> p % 64; }
};

/// Sums the products that Terms makes. Terms has
///   Sum, lanes          what a lane sums, and lanes of a thread
///   Pieces              the pieces of a Sum (kernel/piece_sums.hpp)
///   block, elements     how a column is reached from ChunkWalk's block number; of a head in scratch memory
///   resident_teams      of 256 threads that a multiprocessor is to hold, by registers
///   most_partitions     that a thread walks on a device
///   batch               nonzeros read and gathered at the same time
///   columns(block, lane), own(columns)   a lane's columns, in the output and from the block's first one on
///   add<Count>(p, ends, columns, sum, flush)   the nonzeros p ... p + Count - 1 to a FlaggedSum
///   store(row, sum, columns), add_to(row, sum, columns, lane)   a row of the output, the second with atomics
template <class Scalar, class Index, class Terms>
struct SumFlagged {
  using Sum    = typename Terms::Sum;
  using Heads  = TeamHeads<Sum, Scalar, Terms::elements>;
  using Pieces = typename Terms::Pieces;

  Terms terms;
  FlaggedSegments<Index> segments;
  ChunkWalk chunks;  // whole partitions

  /// The state of a thread after its walk.
  struct Open {
    Sum sum;
    Index row;
    bool is_open;  // the last segment continues in the next thread's chunk
    bool is_head;  // no segment ended
  };

  template <class Columns>
  KOKKOS_FORCEINLINE_FUNCTION Open walk(count_t begin, count_t end, Columns const& columns,
                                        Heads const& heads, int thread) const {
    constexpr int batch = Terms::batch;
    Index segment       = segments.first_segment[segments.partition(begin)];
    Index row           = segments.row(segment);
    FlaggedSum<Sum> sum(segments.begins(segments.partition(begin)));
    Pieces pieces;
    [[maybe_unused]] int piece_terms = 0;
    auto const flush                 = [&](Sum const& last, bool is_head) {
      Sum const total = pieces.total(last);
      if (is_head)
        heads.store(thread, total, terms.own(columns));  // others have the segment's beginning
      else
        terms.store(row, total, columns);
      row = segments.row(++segment);  // there is one entry past the last segment
    };
    for (count_t p = begin; p < end;) {
      std::uint64_t ends = segments.ends(p);
      // In 32 bits: the sums leave few registers.
      auto left = static_cast<int>(Kokkos::min(end - p, static_cast<count_t>(segments.threadlen)));
      for (; left >= batch; left -= batch, p += batch, ends >>= batch)
        terms.template add<batch>(p, static_cast<unsigned>(ends), columns, sum, flush);
      if constexpr (batch > 1) {
        for (; left > 0; --left, ++p, ends >>= 1)
          terms.template add<1>(p, static_cast<unsigned>(ends), columns, sum, flush);
      }
      if constexpr (Pieces::is_used) {
        piece_terms += segments.threadlen;
        if (piece_terms + segments.threadlen <= Pieces::terms) continue;
        sum.sum     = pieces.take(sum.sum);
        piece_terms = 0;
      }
    }
    return {pieces.total(sum.sum), row, (segments.ends(end - 1) & 1U) == 0, sum.is_head};
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const at       = chunks.template place<Terms::block>(member);
    int const thread    = member.team_rank();
    count_t const begin = at.thread * chunks.chunk;
    count_t const end   = Kokkos::min(chunks.items, begin + chunks.chunk);
    bool const walks    = begin < chunks.items;
    Heads const heads(member);
    Open open{Sum(0), 0, false, false};  // every lane its own
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Terms::lanes), [&](int const lane) {
      auto const columns = terms.columns(at.column, lane);
      if (!walks || columns.count <= 0) return;
      open = walk(begin, end, columns, heads, thread);
      if (open.is_head) heads.store(thread, open.sum, terms.own(columns));
      heads.set_passes(thread, open.is_head);  // every lane writes the same
    });
    member.team_barrier();
    if (!walks) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Terms::lanes), [&](int const lane) {
      auto const columns = terms.columns(at.column, lane);
      if (columns.count <= 0) return;
      auto const own = terms.own(columns);
      if (thread == 0 && !segments.begins(segments.partition(begin))) {
        // Teams before this one began the segment and add to its row too.
        Sum head = heads.load(0, own);
        if (heads.passes(0)) heads.join(head, 0, own);
        terms.add_to(segments.row(segments.first_segment[segments.partition(begin)]), head, columns, lane);
      }
      if (!open.is_open || open.is_head) return;
      if (heads.join(open.sum, thread, own))
        terms.store(open.row, open.sum, columns);
      else
        terms.add_to(open.row, open.sum, columns, lane);  // the teams after this one add to it too
    });
  }
};

/// Launches SumFlagged over all nonzeros and blocks of columns, with teams of the given shape.
template <class Space, class Scalar, class Index, class Terms>
void sum_flagged(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                 ColumnBlocks blocks, FCooShape const& shape, Terms const& terms) {
  using Kernel            = SumFlagged<Scalar, Index, Terms>;
  using Bounds            = Kokkos::LaunchBounds<fcoo_most_threads, Terms::resident_teams>;
  count_t const threadlen = X.threadlen;
  count_t const chunk     = partitions_per_thread<Terms>(space, X.nnz, threadlen, blocks.count) * threadlen;
  ChunkWalk const chunks{X.nnz, chunk, blocks};
  constexpr int lanes = Terms::lanes;
  int team            = team_threads<Space>(lanes, shape.team_threads);
  while (static_cast<count_t>(Kernel::Heads::bytes(team)) > device_team_scratch && team > 1) team /= 2;
  auto policy = team_policy<Bounds>(space, chunks.shape(team, lanes));
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::Heads::bytes(team)));
  detail::launch_with_local_copy(label, policy, Kernel{terms, FlaggedSegments<Index>(X), chunks});
}

}  // namespace polyad::detail
