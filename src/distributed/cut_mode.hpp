// SPDX-License-Identifier: BSD-3-Clause
// Cuts a mode by the nonzeros of all ranks, where no rank counts each row. The rows are divided into buckets,
// whose nonzeros are added up over the ranks. Then the bucket of each cut is divided, until it is one row.
#pragma once

#include <algorithm>
#include <vector>

#include "distributed/host_chunks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

/// Buckets of a pass: half a mebibyte of numbers for each chunk of the nonzeros.
inline constexpr count_t most_buckets = count_t(1) << 16;

/// Cuts `rows` rows into parts of about as many nonzeros each, of all ranks together: those of balanced_cuts.
/// \param row_of   row_of(p) is the row of nonzero p of this rank's nnz
/// \param buckets  in a pass, the same number on all ranks
template <class RowOf>
std::vector<count_t> cut_rows(RankGroup const& ranks, count_t rows, count_t nnz, RowOf const& row_of,
                              int parts, count_t buckets = most_buckets) {
  POLYAD_EXPECTS(parts >= 1, parts, " parts of a mode");
  count_t total = nnz;
  ranks.all_reduce(&total, 1);
  auto const count = static_cast<count_t>(parts);
  std::vector<count_t> cuts;
  if (total == 0 || rows == 0) {
    for (count_t part = 0; part <= count; ++part)
      cuts.push_back(rows / count * part + rows % count * part / count);
    return cuts;
  }

  // The row where the nonzeros exceed the ideal end of a part lies between `first` and `last`.
  struct Search {
    double end;
    count_t first, last;
    count_t before;  // nonzeros of the rows before `first`
    count_t inside;
    [[nodiscard]] bool is_open() const { return last - first > 1; }
  };
  std::vector<Search> searches;
  for (int part = 1; part < parts; ++part)
    searches.push_back({static_cast<double>(total) * static_cast<double>(part) / static_cast<double>(parts),
                        0, rows, 0, total});

  while (true) {
    // Each range that is still searched, once. They are in order, and none overlaps another.
    std::vector<count_t> first, last;
    for (auto const& search : searches)
      if (search.is_open() && (first.empty() || first.back() != search.first)) {
        first.push_back(search.first);
        last.push_back(search.last);
      }
    if (first.empty()) break;
    count_t const each = std::max<count_t>(2, buckets / first.size());
    std::vector<count_t> width;
    for (std::size_t r = 0; r < first.size(); ++r)
      width.push_back((last[r] - first[r]) / each + ((last[r] - first[r]) % each > 0 ? 1 : 0));
    count_t const none = each * first.size();
    auto counts        = count_kinds(nnz, none, [&](count_t p) {
      count_t const row = row_of(p);
      auto const after  = std::upper_bound(first.begin(), first.end(), row);
      if (after == first.begin()) return none;
      auto const r = static_cast<std::size_t>(after - first.begin()) - 1;
      return row < last[r] ? r * each + (row - first[r]) / width[r] : none;
    });
    ranks.all_reduce(counts.data(), counts.size());
    for (auto& search : searches) {
      if (!search.is_open()) continue;
      auto const found = std::lower_bound(first.begin(), first.end(), search.first);
      auto const r     = static_cast<std::size_t>(found - first.begin());
      for (count_t b = 0; b < each; ++b) {
        count_t const inside = counts[r * each + b];
        if (static_cast<double>(search.before + inside) > search.end) {
          search.first += b * width[r];
          if (width[r] < search.last - search.first) search.last = search.first + width[r];
          search.inside = inside;
          break;
        }
        search.before += inside;
      }
    }
  }
  // A row belongs to the part that gets more than half of it.
  cuts.push_back(0);
  for (auto const& search : searches)
    cuts.push_back(
        search.first +
        (static_cast<double>(search.before) + static_cast<double>(search.inside) / 2 <= search.end ? 1 : 0));
  cuts.push_back(rows);
  return cuts;
}

}  // namespace polyad::detail
