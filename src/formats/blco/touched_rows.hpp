// SPDX-License-Identifier: BSD-3-Clause
// The rows that each chunk of the nonzeros touches, and which of them are private to it
// (formats/blco/private_rows.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "formats/blco/private_rows.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Rows first ... last of one mode; none when first > last.
struct RowRange {
  count_t first = std::numeric_limits<count_t>::max();
  count_t last  = 0;

  [[nodiscard]] KOKKOS_FUNCTION bool empty() const { return first > last; }
  KOKKOS_FUNCTION void include(count_t row) {
    first = Kokkos::min(first, row);
    last  = Kokkos::max(last, row);
  }
  KOKKOS_FUNCTION void include(RowRange const& other) {
    first = Kokkos::min(first, other.first);
    last  = Kokkos::max(last, other.last);
  }
};

/// The private rows of each chunk, given the rows that it touches. Ranges of earlier chunks cover some rows
/// of the chunk's own range. The rows from the lowest to the highest of these are private. If they are half
/// of the range or more, or if the range has at most `cheap` rows, all of it is private. The walk then need
/// not check each nonzero's row.
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

}  // namespace polyad::detail
