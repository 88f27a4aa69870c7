// SPDX-License-Identifier: BSD-3-Clause
// RowsOfMode: the rows of one mode, divided among ranks, for what is computed for each row by itself. And
// what the ranks computed, put together.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "distributed/exchange.hpp"
#include "distributed/over_ranks.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// The numbers of all ranks, in the order of ranks; the same on all. T is double or count_t.
template <class T>
std::vector<T> gathered(RankGroup const& ranks, std::vector<T> const& own) {
  auto const counts  = of_all_ranks(ranks, count_t(own.size()));
  auto const here    = counts.begin() + ranks.rank();
  count_t const from = std::accumulate(counts.begin(), here, count_t(0));
  std::vector<T> all(std::accumulate(here, counts.end(), from));
  std::copy(own.begin(), own.end(), all.data() + from);
  ranks.all_gather(all.data(), counts);
  return all;
}

/// The sums over all ranks, each of which has as many numbers.
inline std::vector<count_t> summed(RankGroup const& ranks, std::vector<count_t> numbers) {
  ranks.all_reduce(numbers.data(), numbers.size());
  return numbers;
}

/// The largest extent of each mode on any rank, where a rank without entries may know of no modes.
inline Extents common_extents(RankGroup const& ranks, Extents const& own) {
  auto const orders = of_all_ranks(ranks, count_t(own.order()));
  std::vector<count_t> extents;
  for (int n = 0; n < static_cast<int>(*std::max_element(orders.begin(), orders.end())); ++n) {
    auto const of_mode = of_all_ranks(ranks, n < own.order() ? own[n] : count_t(0));
    extents.push_back(*std::max_element(of_mode.begin(), of_mode.end()));
  }
  return extents.empty() ? Extents() : Extents(std::span<count_t const>(extents));
}

/// Each rank has a range of the rows, in the order of ranks. One rank has all of them.
template <class Scalar, class Index, class Space>
class RowsOfMode {
public:
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Host   = CooTensor<Scalar, Index, HostOf<Space>>;

  /// Cuts the mode so that the ranges have about as many of the entries of all ranks. All ranks call it.
  /// \param part  this rank's part of the entries, whose coordinates are within its extents
  RowsOfMode(Communicator<Space> const& ranks, Tensor const& part, int mode) : m_ranks(ranks), m_mode(mode) {
    if (ranks.size() == 1) return;
    auto const extents = common_extents(ranks.host(), part.extents());
    auto const host    = on_host(part);
    auto const indices = host.indices();
    m_cuts             = cut_rows(
        ranks.host(), extents[mode], host.nnz(), [&](count_t p) { return count_t(indices(p, mode)); },
        ranks.size());
  }

  /// The entries of all ranks that are in this rank's rows, in the order of ranks. Rows after those that were
  /// cut belong to the last rank. All ranks call it, and all throw if one does.
  [[nodiscard]] Tensor deal(Tensor const& part) const {
    if (m_ranks.size() == 1) return part;
    auto const extents = common_extents(m_ranks.host(), part.extents());
    if (extents.order() == 0) return part;
    auto const host = on_host(part);
    Partition partition;
    partition.extents = extents;
    partition.rank    = m_ranks.rank();
    for (int n = 0; n < extents.order(); ++n) {
      partition.grid.push_back(n == m_mode ? m_ranks.size() : 1);
      partition.cuts.push_back(n == m_mode ? m_cuts : std::vector<count_t>{0, extents[n]});
    }
    std::vector<double> const values(host.values().data(), host.values().data() + host.nnz());
    std::span<Index const> const indices(host.indices().data(), host.indices().size());
    auto received = exchange<Index>(m_ranks.host(), LabelledNonzeros<Index>{partition, indices, values});
    std::size_t const order = extents.order();
    for (std::size_t e = m_mode; e < received.indices.size(); e += order)
      received.indices[e] = static_cast<Index>(received.indices[e] + m_cuts[m_ranks.rank()]);
    return AllRanks<Space>(m_ranks).together([&] {
      return upload<Scalar, Index>(m_ranks.space(), extents, std::span<Index const>(received.indices),
                                   std::span<double const>(received.values));
    });
  }

  /// The ranges' first rows in a mode of so many rows, and the end of the last one.
  [[nodiscard]] std::vector<count_t> cuts(count_t rows) const {
    auto result   = m_cuts.empty() ? std::vector<count_t>{0, rows} : m_cuts;
    result.back() = std::max(result.back(), rows);
    return result;
  }
  /// Gives all ranks the rows of a matrix or vector that each rank has.
  template <class View>
  void share(View const& rows) const {
    auto const from = cuts(rows.extent(0));
    std::vector<count_t> parts;
    for (std::size_t k = 0; k + 1 < from.size(); ++k)
      parts.push_back((from[k + 1] - from[k]) * static_cast<count_t>(rows.stride(0)));
    m_ranks.data().all_gather(rows.data(), parts);
  }

private:
  [[nodiscard]] Host on_host(Tensor const& part) const {
    return AllRanks<Space>(m_ranks).together(
        [&] { return part.order() == 0 ? Host() : download<HostOf<Space>>(m_ranks.space(), part); });
  }

  Communicator<Space> m_ranks;
  int m_mode;
  std::vector<count_t> m_cuts;  // P + 1 rows; none with one rank
};

}  // namespace polyad::detail
