// SPDX-License-Identifier: BSD-3-Clause
// QueryWeights: what a batch of queries multiplies the rows of the ranked mode by, and what it adds to all of
// its scores.
#pragma once

#include <array>
#include <vector>

#include "fast_tucker/ranking/ranked_rows.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// The bins of a mode's drift.
template <class Space>
struct TimeBins {
  QueryDoubles<Space> shares;  // for each bin, the share that it has of all times with entries
  count_t times;
  /// The share of bin b in a query's time. It is 0 or 1 for one time, 0 for times after the last, and the
  /// bin's share for every_row.
  [[nodiscard]] KOKKOS_FUNCTION double share(count_t time, count_t b) const {
    if (time == every_row) return shares(b);
    return time < times && time_bin(time, shares.extent(0), times) == b ? 1 : 0;
  }
};

/// The queries of a batch: `stride` indices each.
template <class Space>
struct QueryIndices {
  QueryNumbers<Space> indices;
  count_t stride;
  [[nodiscard]] KOKKOS_FUNCTION count_t at(count_t q, count_t position) const {
    return indices(q * stride + position);
  }
};

/// The products of the other modes' rows of C, and the biases, for one batch of queries at a time.
template <class Scalar, class Space>
class QueryWeights {
public:
  QueryWeights(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode, count_t batch,
               ObservedRows const& observed);

  /// \param weights  at least Q x columns_of_weights(model, mode)
  /// \param base     Q numbers that are added to all scores of a query
  /// Waits for the upload of the indices, and for its kernels: they read the indices.
  void form(std::vector<count_t> const& indices, FactorMatrix<Scalar, Space> const& weights,
            QueryDoubles<Space> const& base) const;

private:
  /// The position of a mode among the indices of a query.
  [[nodiscard]] count_t position_of(int n) const { return static_cast<count_t>(n < m_mode ? n : n - 1); }

  /// The drifts: added to the base if they are the same for all rows, otherwise as columns of the weights.
  void form_drifts(QueryIndices<Space> const& queries, count_t Q, FactorMatrix<Scalar, Space> const& weights,
                   QueryDoubles<Space> const& base) const;

  Space m_space;
  FastTuckerModel<Scalar, Space> m_model;
  int m_mode;
  FactorMatrix<Scalar, Space> m_factors;
  std::array<FactorMatrix<Scalar, Space>, max_order> m_rows;
  std::array<QueryDoubles<Space>, max_order> m_mean_row;
  std::array<QueryDoubles<Space>, max_order> m_mean_bias;
  std::array<QueryDoubles<Space>, max_order> m_mean_drift;
  std::array<TimeBins<Space>, max_order> m_bins;
};

/// Columns of the weights: R and, with drifts, their bins.
template <class Scalar, class Space>
count_t columns_of_weights(FastTuckerModel<Scalar, Space> const& model, int mode) {
  if (model.time_mode < 0) return model.rank();
  if (mode != model.time_mode) return model.rank() + model.drift(mode).extent(1);
  count_t columns = model.rank();
  for (int n = 0; n < model.order(); ++n) columns += n == mode ? 0 : model.drift(n).extent(1);
  return columns;
}

#define POLYAD_QUERY_WEIGHTS(Scalar) template class QueryWeights<Scalar, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR(extern, POLYAD_QUERY_WEIGHTS);

}  // namespace polyad::detail
