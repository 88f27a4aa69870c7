// SPDX-License-Identifier: BSD-3-Clause
// Ranking: the scores of the rows of a mode for a batch of queries, by blocks of rows, and the best of them.
#pragma once

#include "fast_tucker/ranking/ranked_rows.hpp"
#include "fast_tucker/ranking/seen_rows.hpp"
#include "fast_tucker/ranking/select_best.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// How much is scored at a time.
struct RankingBlocks {
  count_t rows;     // K
  count_t queries;  // that a batch has
  count_t groups;   // lists of a query
};

/// Ranks the rows of a mode by their scores, one batch of queries at a time.
template <class Scalar, class Space>
class Ranking {
public:
  Ranking(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode, count_t queries,
          RankingOptions const& options, bool cosines);

  [[nodiscard]] RankingBlocks const& blocks() const { return m_blocks; }
  [[nodiscard]] FactorMatrix<Scalar, Space> first_rows(FactorMatrix<Scalar, Space> const& matrix,
                                                       count_t rows) const {
    return Kokkos::subview(matrix, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }

  /// Appends the best rows of the queries whose weights and bases are in `weights` and `base`. Waits.
  void rank(count_t first_query, count_t queries, SeenRows<Space> const& seen, ValueRange range,
            Rankings& result);

  // The steps of `rank`, for callers that need the scores too.

  /// Begins a batch: there are no best rows yet.
  void begin();
  /// Scores the rows first ... first + columns - 1, without base and bias: minus infinity for rows without
  /// entries and for those that the query has seen. The first of the batch's queries is first_query.
  void score(count_t first, count_t columns, count_t first_query, count_t queries,
             SeenRows<Space> const& seen);
  /// Merges these scores into the best rows.
  void select(count_t first, count_t columns, count_t queries);
  /// Appends the best rows of the batch. Waits. \throws NumericalError when a score is not finite
  void collect(count_t queries, ValueRange range, Rankings& result) const;

  /// The scores of the last block, Q x K.
  [[nodiscard]] FactorMatrix<Scalar, Space> const& products() const { return m_products; }
  /// The biases of the ranked mode, which belong to the scores; null if there are none.
  [[nodiscard]] Scalar const* bias() const {
    return m_model.has_biases() && !m_cosines ? m_model.bias(m_mode).data() : nullptr;
  }

  FactorMatrix<Scalar, Space> weights;  // Q x R
  QueryDoubles<Space> base;             // Q

private:
  void turn_drifts(count_t first, count_t columns) const;

  Space m_space;
  FastTuckerModel<Scalar, Space> m_model;
  int m_mode;
  bool m_cosines;
  Observed<Space> m_observed;
  count_t m_wanted;
  RankingBlocks m_blocks;
  FactorMatrix<Scalar, Space> m_C;           // K x R
  FactorMatrix<Scalar, Space> m_transposed;  // R x K
  FactorMatrix<Scalar, Space> m_products;    // Q x K
  Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, typename Space::device_type> m_kept;
  Kokkos::View<int, typename Space::device_type> m_not_finite;
  BestLists<Space> m_best, m_next;
};

#define POLYAD_RANKING(Scalar) template class Ranking<Scalar, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR(extern, POLYAD_RANKING);

}  // namespace polyad::detail
