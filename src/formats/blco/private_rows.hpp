// SPDX-License-Identifier: BSD-3-Clause
// Which rows of the output a thread keeps a copy of. The nonzeros are cut into chunks, one a thread;
// the chunk's rows of a mode lie between a lowest and a highest one. A row that an earlier chunk may
// write too is private: the chunk adds to its own copy of it, and the copies are added to the output at the
// end. All other rows are written by one chunk only, straight into the output. One chunk has no private
// rows.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Rows first ... first + count - 1 of a chunk are private; the copy of `first` is row `slot` of all
/// copies.
struct PrivateRows {
  count_t first = 0;
  count_t count = 0;
  count_t slot  = 0;
  bool alike    = true;  // all rows that the chunk touches are private, or none is

  KOKKOS_FORCEINLINE_FUNCTION bool contain(count_t row) const {
    return row - first < count;  // of a row below the first one the difference is a huge number
  }
};

}  // namespace polyad::detail
