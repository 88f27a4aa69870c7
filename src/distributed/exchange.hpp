// SPDX-License-Identifier: BSD-3-Clause
// Brings nonzeros to the ranks whose block they are in, and cuts modes by nonzeros.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "polyad/distributed/cp_als.hpp"

namespace polyad::detail {

/// Gathers a number of each rank.
template <class T>
std::vector<T> of_all_ranks(RankGroup const& ranks, T number) {
  std::vector<T> numbers(static_cast<std::size_t>(ranks.size()), T(0));
  numbers[static_cast<std::size_t>(ranks.rank())] = number;
  ranks.all_gather(numbers.data(), std::vector<count_t>(numbers.size(), 1));
  return numbers;
}

inline double imbalance_of(std::vector<count_t> const& numbers) {
  double const sum     = static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), count_t(0)));
  double const largest = static_cast<double>(*std::max_element(numbers.begin(), numbers.end()));
  return sum == 0 ? 1 : largest / sum * static_cast<double>(numbers.size());
}

/// \throws UsageError on all ranks when a coordinate of one is outside, or is missing
template <class Index>
void expect_inside(RankGroup const& ranks, Extents const& extents, std::span<Index const> indices,
                   std::span<double const> values) {
  auto const order = static_cast<count_t>(extents.order());
  count_t wrong    = indices.size() == values.size() * order ? 0 : 1;
  for (std::size_t e = 0; wrong == 0 && e < indices.size(); ++e)
    if (indices[e] >= extents[static_cast<int>(e % order)]) wrong = 1;
  auto const wrong_on = of_all_ranks(ranks, wrong);
  for (std::size_t k = 0; k < wrong_on.size(); ++k)
    POLYAD_EXPECTS(wrong_on[k] == 0, "rank ", k, " has a coordinate outside ", to_string(extents),
                   ", or not as many coordinates as values");
}

/// Cuts mode n into parts of about as many nonzeros each, of all ranks together.
template <class Index>
std::vector<count_t> cut_mode(RankGroup const& ranks, Extents const& extents, std::span<Index const> indices,
                              int n, int parts) {
  std::vector<count_t> counts(extents[n], 0);
  auto const order = static_cast<std::size_t>(extents.order());
  for (auto e = static_cast<std::size_t>(n); e < indices.size(); e += order) ++counts[indices[e]];
  ranks.all_reduce(counts.data(), counts.size());
  return balanced_cuts(counts, parts);
}

/// The rank whose block has a nonzero with these coordinates.
template <class Index>
int owner_of(Partition const& partition, Index const* coordinates) {
  int rank = 0;
  for (std::size_t n = 0; n < partition.grid.size(); ++n) {
    auto const& cuts = partition.cuts[n];
    // The last range that begins at or before the row: empty ones begin there too.
    auto const after = std::upper_bound(cuts.begin(), cuts.end() - 1, count_t(coordinates[n]));
    rank             = rank * partition.grid[n] + static_cast<int>(after - cuts.begin()) - 1;
  }
  return rank;
}

/// How many nonzeros of all ranks each block has.
template <class Index>
std::vector<count_t> nonzeros_of_blocks(RankGroup const& ranks, Partition const& partition,
                                        std::span<Index const> indices) {
  std::vector<count_t> counts(static_cast<std::size_t>(ranks.size()), 0);
  for (std::size_t e = 0; e < indices.size(); e += partition.grid.size())
    ++counts[static_cast<std::size_t>(owner_of(partition, indices.data() + e))];
  ranks.all_reduce(counts.data(), counts.size());
  return counts;
}

/// The nonzeros of this rank, in the order of their senders. Their coordinates count from the rank's first
/// rows.
template <class Index>
struct Received {
  std::vector<Index> indices;
  std::vector<double> values;
};

template <class Index>
Received<Index> exchange(RankGroup const& ranks, Partition const& partition, std::span<Index const> indices,
                         std::span<double const> values) {
  auto const order = static_cast<std::size_t>(partition.extents.order());
  std::vector<int> owner(values.size());
  std::vector<count_t> to(static_cast<std::size_t>(ranks.size()), 0);
  for (std::size_t p = 0; p < values.size(); ++p) {
    owner[p] = owner_of(partition, indices.data() + p * order);
    ++to[static_cast<std::size_t>(owner[p])];
  }
  auto const from = ranks.counts_from(to);
  std::vector<count_t> next(to.size());
  std::exclusive_scan(to.begin(), to.end(), next.begin(), count_t(0));
  Received<Index> sent{std::vector<Index>(indices.size()), std::vector<double>(values.size())};
  for (std::size_t p = 0; p < values.size(); ++p) {
    count_t const at = next[static_cast<std::size_t>(owner[p])]++;
    sent.values[at]  = values[p];
    for (std::size_t n = 0; n < order; ++n) {
      auto const first             = partition.first_row(owner[p], static_cast<int>(n));
      sent.indices[at * order + n] = static_cast<Index>(indices[p * order + n] - first);
    }
  }
  if (ranks.size() == 1) return sent;
  count_t const count = std::accumulate(from.begin(), from.end(), count_t(0));
  Received<Index> received{std::vector<Index>(count * order), std::vector<double>(count)};
  ranks.all_to_all(sent.values.data(), to, received.values.data(), from);
  auto const scaled = [&](std::vector<count_t> counts) {
    for (auto& k : counts) k *= order;
    return counts;
  };
  ranks.all_to_all(sent.indices.data(), scaled(to), received.indices.data(), scaled(from));
  return received;
}

}  // namespace polyad::detail
