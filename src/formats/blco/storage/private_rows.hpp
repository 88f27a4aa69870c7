// SPDX-License-Identifier: BSD-3-Clause
// The rows of the output of which a thread keeps a copy. The nonzeros are cut into chunks, one per thread. A
// chunk's rows of a mode are a range from the lowest to the highest. A row is private if an earlier chunk may
// write it too. The chunk adds to its own copy of it, and the copies are added to the output at the end. Only
// one chunk writes each other row, straight into the output. A single chunk has no private rows.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Rows first ... first + count - 1 of a chunk are private. Row `slot` of all copies is the copy of row
/// `first`.
struct PrivateRows {
  count_t first = 0;
  count_t count = 0;
  count_t slot  = 0;
  bool alike    = true;  // all rows that the chunk touches are private, or none is

  KOKKOS_FORCEINLINE_FUNCTION bool contain(count_t row) const {
    return row - first < count;  // unsigned: the difference is huge for rows before `first`
  }
};

}  // namespace polyad::detail
