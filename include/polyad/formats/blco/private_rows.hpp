// SPDX-License-Identifier: BSD-3-Clause
// Which rows of the output a host thread keeps a copy of. The nonzeros are cut into stretches, one a thread;
// the stretch's rows of a mode lie between a lowest and a highest one. A row that an earlier stretch may
// write too is private: the stretch adds to its own copy of it, and the copies are added to the output at the
// end. All other rows are written by one stretch only, straight into the output. One stretch has no private
// rows.
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

/// Rows first ... first + count - 1 of a stretch are private; the copy of `first` is row `slot` of all
/// copies.
struct PrivateRows {
  count_t first = 0;
  count_t count = 0;
  count_t slot  = 0;
  bool alike    = true;  // all rows that the stretch touches are private, or none is

  KOKKOS_FORCEINLINE_FUNCTION bool contain(count_t row) const {
    return row - first < count;  // of a row below the first one the difference is a huge number
  }
};

/// The private rows of each stretch, given the rows that it touches: of its range the part, from the lowest
/// to the highest row, that ranges of earlier stretches cover; all of the range where that is half of it or
/// more, or where the range has at most `cheap` rows, since a walk need not ask for every nonzero then.
inline std::vector<PrivateRows> private_rows(std::span<RowRange const> touched, count_t cheap = 0) {
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
    count_t const range = touched[s].last - touched[s].first + 1;
    result[s].alike     = range <= cheap || 2 * (shared.last - shared.first + 1) >= range;
    if (result[s].alike) shared = touched[s];
    result[s].first = shared.first;
    result[s].count = shared.last - shared.first + 1;
    slot += result[s].count;
  }
  return result;
}

/// Rows in memory.
template <class Scalar>
struct RowsAt {
  Scalar* data;
  count_t stride;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(count_t row) const { return data + row * stride; }
};

/// Where stretches add to a row: to their copy of a private row, to the output itself for any other.
template <class Scalar>
struct PrivateOutput {
  RowsAt<Scalar> output;         // I_n x R
  RowsAt<Scalar> copies;         // private rows of all stretches x R
  PrivateRows const* stretches;  // of this mode

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* copy(PrivateRows const& own, count_t row) const {
    return copies.row(own.slot + row - own.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(PrivateRows const& own, count_t row) const {
    return own.contain(row) ? copy(own, row) : output.row(row);
  }
  /// Where row 0 would be, were all rows like those of a stretch whose rows are alike.
  [[nodiscard]] RowsAt<Scalar> alike(PrivateRows const& own) const {
    if (own.count == 0) return output;
    return {copies.data + (own.slot - own.first) * copies.stride, copies.stride};
  }
};

}  // namespace polyad
