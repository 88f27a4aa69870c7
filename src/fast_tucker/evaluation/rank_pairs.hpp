// SPDX-License-Identifier: BSD-3-Clause
// The AUC of a batch of queries, exact over all candidates: the scores of relevant items are gathered and
// sorted. Those of all candidates are compared with them by binary search.
#pragma once

#include <Kokkos_Core.hpp>

#include "fast_tucker/ranking/ranked_rows.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The scores of a block of rows, as SelectBest adds them up.
template <class Scalar, class Space>
struct BlockScores {
  FactorMatrix<Scalar, Space> products;
  QueryDoubles<Space> base;
  Scalar const* bias;  // null: none
  count_t first;
  count_t columns;
  [[nodiscard]] KOKKOS_FUNCTION double operator()(count_t q, count_t k) const {
    return static_cast<double>(products(q, k)) + base(q) +
           (bias == nullptr ? 0.0 : static_cast<double>(bias[first + k]));
  }
};

/// Writes scores(i) of relevant item i, if the block has it.
template <class Scalar, class Space>
struct GatherScores {
  BlockScores<Scalar, Space> block;
  QueryNumbers<Space> queries;  // the query of relevant item i, in the batch
  QueryNumbers<Space> items;
  QueryDoubles<Space> scores;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const row = items(i);
    if (row >= block.first && row - block.first < block.columns)
      scores(i) = block(queries(i), row - block.first);
  }
};

/// The pairs of a query: two for each pair of a relevant item and a candidate that scores less, one for equal
/// scores. The relevant items are among the candidates.
template <class Scalar, class Space>
struct CountPairs {
  BlockScores<Scalar, Space> block;
  QueryNumbers<Space> starts;  // Q + 1
  QueryDoubles<Space> sorted;  // the scores of each query's relevant candidates, increasing
  QueryNumbers<Space> pairs;
  QueryNumbers<Space> candidates;
  bool counts_pairs;

  /// The first of the scores from begin to end that is at least x or, if `above`, larger than x.
  [[nodiscard]] KOKKOS_FUNCTION count_t bound(count_t begin, count_t end, double x, bool above) const {
    while (begin < end) {
      count_t const middle = begin + (end - begin) / 2;
      if (sorted(middle) < x || (above && sorted(middle) == x))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const q        = static_cast<count_t>(member.league_rank());
    count_t const begin = starts(q), end = starts(q + 1);
    count_t total = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, begin == end ? 0 : block.columns),
        [&](count_t const k, count_t& sum) {
          double const x = block(q, k);
          if (x == -Kokkos::Experimental::infinity_v<double>) return;
          if (!counts_pairs) {
            ++sum;
            return;
          }
          count_t const equal = bound(begin, end, x, false);
          count_t const above = bound(equal, end, x, true);
          sum += 2 * (end - above) + (above - equal);
        },
        total);
    // No other team has this query.
    Kokkos::single(Kokkos::PerTeam(member), [&] { (counts_pairs ? pairs : candidates)(q) += total; });
  }
};

}  // namespace polyad::detail
