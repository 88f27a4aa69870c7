// SPDX-License-Identifier: BSD-3-Clause
// Segmented sums: a thread walks rows of products, adds them up in registers while their segment stays the
// same, and hands a sum over when its segment ends (F-COO, section 4; BLCO, section 5.1.2). What a segment is
// the kernel says by a key: the row of the output, or the number of start flags passed so far.
//
// Where a sum goes is a policy, `flush(key, sum)`:
//
//   AddAtomically   to the output in global memory, where any thread may add to the same row
//                   (BLCO's register-based conflict resolution)
//   AddToStash      to a team's few rows in scratch memory, where its other threads add too
//                   (the first half of BLCO's hierarchical resolution)
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/tiny_vec.hpp"
#include "polyad/core/types.hpp"

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

/// Adds to row `key` of a matrix that other threads add to at the same time. `whole` says that no column of
/// the block lies beyond R, so that all lanes of the thread take part.
template <class Scalar>
struct AddAtomically {
  Scalar* output;  // rows x R
  count_t stride;
  Columns columns;
  int lane;
  bool whole;

  template <class Key, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Key key, Row const& sum) const {
    Scalar* const row = output + static_cast<count_t>(key) * stride;
    if constexpr (Row::adds_together) {
      if (whole) return sum.atomic_add_together(row, columns, lane);
    }
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
    sum.atomic_add_to_scratch(stash + static_cast<count_t>(key) * static_cast<count_t>(stride), columns);
  }
};

}  // namespace polyad
