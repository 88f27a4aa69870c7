// SPDX-License-Identifier: BSD-3-Clause
// Which rows of the output a host thread keeps a copy of. The nonzeros are cut into stretches, one a thread; the
// stretch's rows of a mode lie between a lowest and a highest one. A row that an earlier stretch may write too is
// private: the stretch adds to its own copy of it, and the copies are added to the output at the end. All other
// rows are written by one stretch only, straight into the output. One stretch has no private rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "polyad/core/types.hpp"

namespace polyad {

/// Rows first ... last of one mode; none when first > last.
struct RowRange {
  count_t first = std::numeric_limits<count_t>::max();
  count_t last  = 0;

  [[nodiscard]] bool empty() const { return first > last; }
  void include(count_t row) {
    first = std::min(first, row);
    last  = std::max(last, row);
  }
  void include(RowRange const& other) {
    first = std::min(first, other.first);
    last  = std::max(last, other.last);
  }
};

/// Rows first ... first + count - 1 of a stretch are private; the copy of `first` is row `slot` of all copies.
struct PrivateRows {
  count_t first = 0;
  count_t count = 0;
  count_t slot  = 0;
};

/// The private rows of each stretch, given the rows that it touches: of its range the part, from the lowest to
/// the highest row, that ranges of earlier stretches cover.
inline std::vector<PrivateRows> private_rows(std::span<RowRange const> touched) {
  std::vector<PrivateRows> result(touched.size());
  count_t slot = 0;
  for (std::size_t s = 0; s < touched.size(); ++s) {
    RowRange shared;
    for (std::size_t t = 0; t < s; ++t) {
      RowRange const both{std::max(touched[s].first, touched[t].first),
                          std::min(touched[s].last, touched[t].last)};
      if (!both.empty()) shared.include(both);
    }
    result[s].slot = slot;
    if (shared.empty()) continue;
    result[s].first = shared.first;
    result[s].count = shared.last - shared.first + 1;
    slot += result[s].count;
  }
  return result;
}

/// Where a stretch adds to a row: its copy of a private row, the output itself for any other.
template <class Scalar>
struct PrivateOutput {
  Scalar* output;  // I_n x R
  count_t output_stride;
  Scalar* copies;  // private rows of all stretches x R
  count_t copies_stride;
  PrivateRows const* stretches;  // of this mode

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(PrivateRows const& own, count_t row) const {
    count_t const offset = row - own.first;  // of a row below the first one: a huge number
    return offset < own.count ? copies + (own.slot + offset) * copies_stride : output + row * output_stride;
  }
};

}  // namespace polyad
