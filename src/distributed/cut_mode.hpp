// SPDX-License-Identifier: BSD-3-Clause
// Cuts a mode by the nonzeros of all ranks, without a count for each row on any rank. The rows are divided
// into buckets, whose nonzeros are added up over the ranks. Then the bucket of each cut is divided, until it
// is one row.
#pragma once

#include <algorithm>
#include <vector>

#include "distributed/host_chunks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

/// Buckets of a pass: half a mebibyte of numbers for each chunk of the nonzeros.
inline constexpr count_t most_buckets = count_t(1) << 16;

/// The search for one cut. The row where the nonzeros exceed `end`, the ideal end of a part, lies between
/// `first` and `last`.
struct CutSearch {
  double end;
  count_t first, last;
  count_t before;  // nonzeros of the rows before `first`
  count_t inside;

  [[nodiscard]] bool is_open() const { return last - first > 1; }
  /// Goes into the bucket of the cut. `counts` are the nonzeros of the buckets of this range, which have
  /// `width` rows each.
  void narrow(count_t const* counts, count_t buckets, count_t width) {
    for (count_t b = 0; b < buckets; ++b) {
      if (static_cast<double>(before + counts[b]) > end) {
        first += b * width;
        if (width < last - first) last = first + width;
        inside = counts[b];
        return;
      }
      before += counts[b];
    }
  }
  /// A row belongs to the part that gets more than half of it.
  [[nodiscard]] count_t cut() const {
    return first + (static_cast<double>(before) + static_cast<double>(inside) / 2 <= end ? 1 : 0);
  }
};

/// The ranges that are still searched, each once, cut into the same number of buckets. They are in order, and
/// none overlaps another.
class SearchedRanges {
public:
  SearchedRanges(std::vector<CutSearch> const& searches, count_t buckets) {
    for (auto const& search : searches)
      if (search.is_open() && (m_first.empty() || m_first.back() != search.first)) {
        m_first.push_back(search.first);
        m_last.push_back(search.last);
      }
    if (m_first.empty()) return;
    m_each = std::max<count_t>(2, buckets / m_first.size());
    for (std::size_t r = 0; r < m_first.size(); ++r)
      m_width.push_back((m_last[r] - m_first[r]) / m_each + ((m_last[r] - m_first[r]) % m_each > 0 ? 1 : 0));
  }
  [[nodiscard]] bool empty() const { return m_first.empty(); }
  /// Buckets of all ranges. This number stands for the rows outside.
  [[nodiscard]] count_t buckets() const { return m_each * m_first.size(); }
  [[nodiscard]] count_t bucket_of(count_t row) const {
    auto const after = std::upper_bound(m_first.begin(), m_first.end(), row);
    if (after == m_first.begin()) return buckets();
    std::size_t const r = after - m_first.begin() - 1;
    return row < m_last[r] ? r * m_each + (row - m_first[r]) / m_width[r] : buckets();
  }
  void narrow(CutSearch& search, std::vector<count_t> const& counts) const {
    auto const found    = std::lower_bound(m_first.begin(), m_first.end(), search.first);
    std::size_t const r = found - m_first.begin();
    search.narrow(counts.data() + r * m_each, m_each, m_width[r]);
  }

private:
  std::vector<count_t> m_first, m_last, m_width;
  count_t m_each = 0;  // buckets of a range
};

/// Cuts `rows` rows into parts of about as many nonzeros each, of all ranks together: those of balanced_cuts.
/// \param row_of   row_of(p) is the row of nonzero p of this rank's nnz
/// \param buckets  in a pass, the same number on all ranks
template <class RowOf>
std::vector<count_t> cut_rows(RankGroup const& ranks, count_t rows, count_t nnz, RowOf const& row_of,
                              int parts, count_t buckets = most_buckets) {
  POLYAD_EXPECTS(parts >= 1, parts, " parts of a mode");
  count_t total = nnz;
  ranks.all_reduce(&total, 1);
  count_t const count = parts;
  std::vector<count_t> cuts;
  if (total == 0 || rows == 0) {
    for (count_t part = 0; part <= count; ++part)
      cuts.push_back(rows / count * part + rows % count * part / count);
    return cuts;
  }
  std::vector<CutSearch> searches;
  for (int part = 1; part < parts; ++part)
    searches.push_back({static_cast<double>(total) * static_cast<double>(part) / static_cast<double>(parts),
                        0, rows, 0, total});
  for (SearchedRanges ranges(searches, buckets); !ranges.empty();
       ranges = SearchedRanges(searches, buckets)) {
    auto counts = count_kinds(nnz, ranges.buckets(), [&](count_t p) { return ranges.bucket_of(row_of(p)); });
    ranks.all_reduce(counts.data(), counts.size());
    for (auto& search : searches)
      if (search.is_open()) ranges.narrow(search, counts);
  }
  cuts.push_back(0);
  for (auto const& search : searches) cuts.push_back(search.cut());
  cuts.push_back(rows);
  return cuts;
}

}  // namespace polyad::detail
