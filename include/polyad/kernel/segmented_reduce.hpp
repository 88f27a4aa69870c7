// SPDX-License-Identifier: BSD-3-Clause
// Segmented sums (F-COO, section 4; BLCO, section 5.1.2). A thread walks rows of products and adds them up in
// registers while their segment stays the same. When the segment ends, the thread hands over the sum. The
// kernel identifies a segment by a key: the row of the output, or the number of start flags passed so far.
//
// Where a sum goes is a policy, `flush(key, sum)`:
//
//   AddAtomically   to the output in global memory, where any thread may add to the same row
//                   (BLCO's register-based conflict resolution)
//   AddToStash      to a team's few rows in scratch memory, where its other threads add too
//                   (the first half of BLCO's hierarchical resolution)
//
// F-COO marks the last nonzero of each segment with a bit flag. There FlaggedSum sums a thread's chunk, and
// TeamHeads joins the chunks of a team. If a segment begins and ends inside a team, no other team adds to its
// row, and a plain store suffices.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "polyad/core/types.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

/// The sum of the segment that a walk is in. Every lane of a thread holds its own part of the row.
template <class Row, class Key>
class SegmentedSum {
public:
  /// Before the first product, whose segment is `first`.
  KOKKOS_FORCEINLINE_FUNCTION explicit SegmentedSum(Key first) : m_key(first), m_sum(0) {}

  /// Adds a product of segment `key`; the sum before it goes to `flush` when that is a new segment.
  template <class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(Key key, Row const& product, Flush const& flush) {
    if (key == m_key) {
      m_sum += product;
    } else {
      flush(m_key, m_sum);
      m_key = key;
      m_sum = product;
    }
  }
  /// After the last product.
  template <class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Flush const& flush) const {
    flush(m_key, m_sum);
  }

  [[nodiscard]] KOKKOS_FUNCTION Key key() const { return m_key; }

private:
  Key m_key;
  Row m_sum;
};

/// Adds to row `key` of a matrix to which other threads add at the same time. `left` counts the
/// columns from the block's first one to column R. Lanes right of R take no part.
template <class Scalar>
struct AddAtomically {
  Scalar* output;  // rows x R
  count_t stride;
  Columns columns;
  int lane;
  int left;

  template <class Key, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Key key, Row const& sum) const {
    Scalar* const row = output + static_cast<count_t>(key) * stride;
    if constexpr (Row::adds_together)
      sum.atomic_add_together(row, columns, lane, left);
    else
      sum.atomic_add_to(row, columns);
  }
};

/// Adds to row `key` of a stash in the team's scratch memory: rows x stride, for one block of columns.
template <class Scalar>
struct AddToStash {
  Scalar* stash;
  int stride;
  Columns columns;  // counted from the block's first column

  template <class Key, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Key key, Row const& sum) const {
    sum.atomic_add_to_scratch(stash + static_cast<count_t>(key) * stride, columns);
  }
};

/// The segments of one thread's chunk, where each nonzero has a flag for the end of its segment. Sum is a
/// lane's part of a row. It is constructed from 0 and takes terms by +=.
template <class Sum>
struct FlaggedSum {
  Sum sum;
  bool is_head;  // the segment at hand began in a chunk before: none has ended yet in this one

  /// `begins`: the chunk begins a segment (its start flag).
  KOKKOS_FORCEINLINE_FUNCTION explicit FlaggedSum(bool begins) : sum(0), is_head(!begins) {}

  /// Adds a term; when its segment ends with it, flush(sum, is_head) takes the sum.
  template <class Term, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(Term const& term, bool ends, Flush const& flush) {
    sum += term;
    if (!ends) return;
    flush(sum, is_head);
    sum     = Sum(0);
    is_head = false;
  }
};

/// The heads of a team's chunks, in scratch memory. The head of a chunk is the sum of its first segment if
/// that segment began in an earlier chunk. After a barrier, the thread in whose chunk the segment began adds
/// the heads of the following chunks.
template <class Sum, class Scalar, int Elements>
class TeamHeads {
public:
  /// Bytes of scratch memory for a team.
  [[nodiscard]] static constexpr int bytes(int team) {
    return team * (Elements * static_cast<int>(sizeof(Scalar)) + static_cast<int>(sizeof(int))) +
           2 * row_alignment;
  }

  template <class Member>
  KOKKOS_FUNCTION explicit TeamHeads(Member const& member)
      : m_team(member.team_size()),
        m_heads(static_cast<Scalar*>(
            member.team_scratch(0).get_shmem_aligned((m_team * Elements) * sizeof(Scalar), row_alignment))),
        m_passes(
            static_cast<int*>(member.team_scratch(0).get_shmem_aligned(m_team * sizeof(int), sizeof(int)))) {}

  /// The lane's part of a thread's head. `columns` count from the block's first one.
  KOKKOS_FUNCTION void store(int thread, Sum const& sum, Columns columns) const {
    sum.store(m_heads + thread * Elements, columns);
  }
  [[nodiscard]] KOKKOS_FUNCTION Sum load(int thread, Columns columns) const {
    return Sum(m_heads + thread * Elements, columns);
  }
  /// Whether no segment ends in the thread's chunk: its head passes through to the next thread.
  KOKKOS_FUNCTION void set_passes(int thread, bool passes) const { m_passes[thread] = passes ? 1 : 0; }
  [[nodiscard]] KOKKOS_FUNCTION bool passes(int thread) const { return m_passes[thread] != 0; }

  /// Completes the sum of a segment that continues beyond `thread`: adds the heads of the next threads up to
  /// its end. Returns whether the segment ends in this team.
  KOKKOS_FUNCTION bool join(Sum& sum, int thread, Columns columns) const {
    for (int next = thread + 1; next < m_team; ++next) {
      sum += load(next, columns);
      if (!passes(next)) return true;
    }
    return false;
  }

private:
  int m_team;
  Scalar* m_heads;
  int* m_passes;
};

}  // namespace polyad
