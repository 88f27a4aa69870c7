// SPDX-License-Identifier: BSD-3-Clause
// The rows that occur on any rank. For a mode of at most 64 rows per nonzero of all ranks, each rank has a
// bit for each row, and the ranks exchange these in blocks. For a longer mode they exchange lists of rows.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "distributed/exchange.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad {

using namespace detail;

namespace {

constexpr count_t bits_of_word = 64;

/// The rows that occur on any rank, if they are few enough for the rule, in increasing order.
struct OccurringRows {
  count_t count = 0;
  std::vector<std::uint64_t> numbers;
};

/// Calls f(index) for each nonzero's index of mode n.
template <class Index, class F>
void for_each_index(std::span<Index const> indices, int order, int n, F const& f) {
  for (std::size_t at = n; at < indices.size(); at += order) f(indices[at]);
}

template <class Index>
OccurringRows rows_by_bits(RankGroup const& ranks, std::span<Index const> indices, int order, int n,
                           count_t extent, CompactRule const& rule) {
  count_t const words = ceil_div(extent, bits_of_word);
  std::vector<std::uint64_t> bits(words);
  for_each_index(indices, order, n,
                 [&](count_t row) { bits[row / bits_of_word] |= std::uint64_t(1) << row % bits_of_word; });
  // Blocks of a megabyte from each rank.
  constexpr count_t most = count_t(1) << 17;
  count_t const size     = ranks.size();
  count_t const own      = ranks.rank();
  std::vector<std::uint64_t> blocks;
  OccurringRows rows;
  for (count_t first = 0; first < words; first += most) {
    count_t const length = std::min(most, words - first);
    blocks.resize(size * length);
    std::uint64_t* const here = bits.data() + first;
    std::copy_n(here, length, blocks.data() + own * length);
    ranks.all_gather(blocks.data(), std::vector<count_t>(size, length));
    for (count_t k = 0; k < size; ++k)
      for (count_t w = 0; w < length; ++w) here[w] |= blocks[k * length + w];
    for (count_t w = 0; w < length; ++w) rows.count += std::popcount(here[w]);
  }
  if (!rule.is_empty_enough(extent, rows.count)) return rows;
  rows.numbers.reserve(rows.count);
  for (count_t w = 0; w < words; ++w)
    for (std::uint64_t word = bits[w]; word != 0; word &= word - 1)
      rows.numbers.push_back(w * bits_of_word + std::countr_zero(word));
  return rows;
}

template <class Index>
OccurringRows rows_by_lists(RankGroup const& ranks, std::span<Index const> indices, int order, int n,
                            count_t extent, CompactRule const& rule) {
  auto const distinct = [](std::vector<std::uint64_t>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  };
  std::vector<std::uint64_t> own;
  own.reserve(indices.size() / order);
  for_each_index(indices, order, n, [&](count_t row) { own.push_back(row); });
  distinct(own);
  auto const parts = of_all_ranks(ranks, own.size());
  std::vector<std::uint64_t> all(std::accumulate(parts.begin(), parts.end(), count_t(0)));
  auto const before = std::accumulate(parts.begin(), parts.begin() + ranks.rank(), count_t(0));
  std::copy(own.begin(), own.end(), all.begin() + before);
  ranks.all_gather(all.data(), parts);
  distinct(all);
  OccurringRows rows{all.size(), {}};
  if (rule.is_empty_enough(extent, rows.count)) rows.numbers = std::move(all);
  return rows;
}

}  // namespace

template <class Index, class Space>
std::vector<StoredRows> compact_coordinates(Communicator<Space> const& ranks, std::span<Index> indices,
                                            Extents const& extents, CompactRule const& rule) {
  if (ranks.size() == 1) return compact_coordinates(indices, extents, rule);
  int const order        = extents.order();
  RankGroup const& group = ranks.host();
  POLYAD_EXPECTS(order > 0 && indices.size() % order == 0, indices.size(), " indices of a tensor of order ",
                 order);
  auto const parts  = of_all_ranks(group, indices.size() / order);
  count_t const nnz = std::accumulate(parts.begin(), parts.end(), count_t(0));
  std::vector<StoredRows> rows;
  if (nnz == 0) return rows;
  std::span<Index const> const read = indices;
  for (int n = 0; n < order; ++n) {
    count_t const extent = extents[n];
    if (extent < rule.least_rows || extent == 0) continue;
    count_t outside = 0;
    for_each_index(read, order, n, [&](count_t row) { outside += row >= extent ? 1 : 0; });
    group.all_reduce(&outside, 1);
    POLYAD_EXPECTS(outside == 0, "a nonzero has an index outside of mode ", n, " of ", extent, " rows");
    auto found = extent / bits_of_word <= nnz ? rows_by_bits(group, read, order, n, extent, rule)
                                              : rows_by_lists(group, read, order, n, extent, rule);
    if (found.numbers.empty()) continue;
    if (rows.empty())
      for (int m = 0; m < order; ++m) rows.emplace_back(extents[m]);
    rows[n] = StoredRows(extent, std::move(found.numbers));
    for (std::size_t at = n; at < indices.size(); at += order)
      indices[at] = static_cast<Index>(rows[n].position(indices[at]));
  }
  return rows;
}

#define POLYAD_COMPACT_ON_RANKS(Index)                                                                       \
  template std::vector<StoredRows> compact_coordinates(Communicator<CompiledSpace> const&, std::span<Index>, \
                                                       Extents const&, CompactRule const&)
POLYAD_COMPACT_ON_RANKS(std::uint32_t);
POLYAD_COMPACT_ON_RANKS(std::uint64_t);

}  // namespace polyad
