// SPDX-License-Identifier: BSD-3-Clause
// The rows that each chunk of the nonzeros touches, and which of them are private to it
// (formats/blco/storage/private_rows.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "formats/blco/storage/private_rows.hpp"
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

/// Rows that some chunks touch, as ranges without a common row. Each call takes the time of a search.
class CoveredRows {
public:
  /// From the lowest to the highest row of `range` that is covered.
  [[nodiscard]] RowRange within(RowRange const& range) const {
    RowRange covered;
    auto const after = m_ranges.upper_bound(range.last);  // the first range that begins behind
    if (range.empty() || after == m_ranges.begin()) return covered;
    auto lowest = m_ranges.upper_bound(range.first);
    if (lowest != m_ranges.begin() && std::prev(lowest)->second >= range.first) --lowest;
    if (lowest == after) return covered;
    covered.first = std::max(range.first, lowest->first);
    covered.last  = std::min(range.last, std::prev(after)->second);
    return covered;
  }
  void add(RowRange range) {
    if (range.empty()) return;
    auto next = m_ranges.upper_bound(range.first);
    if (next != m_ranges.begin() && std::prev(next)->second >= range.first) --next;
    // Each range is taken out once, so that all calls together take the time of as many searches.
    while (next != m_ranges.end() && next->first <= range.last) {
      range.include(RowRange{next->first, next->second});
      next = m_ranges.erase(next);
    }
    m_ranges.emplace_hint(next, range.first, range.last);
  }

private:
  std::map<count_t, count_t> m_ranges;  // from the first row to the last
};

/// The private rows of each chunk, given the rows that it touches. Ranges of earlier chunks cover some rows
/// of the chunk's own range. The rows from the lowest to the highest of these are private. If they are half
/// of the range or more, or if the range has at most `cheap` rows, all of it is private. The walk then need
/// not check each nonzero's row. The time is that of sorting the chunks.
inline std::vector<PrivateRows> private_rows(std::span<RowRange const> touched, count_t cheap = 0) {
  std::vector<PrivateRows> result(touched.size());
  CoveredRows earlier;
  count_t slot = 0;
  for (std::size_t s = 0; s < touched.size(); ++s) {
    RowRange shared = earlier.within(touched[s]);
    earlier.add(touched[s]);
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
