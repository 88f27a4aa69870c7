// SPDX-License-Identifier: BSD-3-Clause
// Ranks the rows of a mode by a FastTucker model: by the highest predictions (recommend), or by similarity
// (similar). A query gives the index of every other mode, or averages over a mode:
//
//   score(k) = mean + bias^(n)(k) + sum over m != n of bias^(m)(i_m) + sum_r C^(n)(k, r) prod_m C^(m)(i_m, r)
//
// A prediction is linear in the rows of a mode, so the mean over a mode is the prediction of its mean row.
// Rows without entries in the training set (RankingOptions::observed) are never ranked, and do not count in a
// mean. The scores of K rows for Q queries are the product of a Q x R and an R x K matrix. Both are taken
// in blocks, which bounds the scratch memory for any Q and I_n.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// As an index in a query: the mean over all rows of that mode that have entries.
inline constexpr count_t every_row = std::numeric_limits<count_t>::max();

/// Which rows have entries in the training set, in host memory: for each mode I_n numbers, 0 for a row
/// without entries, or nothing if every row has some. Empty if that holds for all modes or is unknown.
using ObservedRows = std::vector<std::vector<std::uint8_t>>;

struct RankingOptions {
  count_t count             = 10;  // number of rows to return for each query, at most 2^31
  count_t rows_at_a_time    = 0;   // rows scored in one product; 0: chosen. For tests.
  count_t queries_at_a_time = 0;   // the same
  ObservedRows observed = {};  // observed_rows finds them; a model's file has them (io/fast_tucker_file.hpp)
};

/// Rows of each query, best first; if scores are equal, the lower row comes first.
struct Rankings {
  std::vector<count_t> starts;  // Q + 1: query q has the rows starts[q] ... starts[q + 1] - 1
  std::vector<count_t> rows;
  std::vector<double> scores;  // predictions that are not clipped, or cosines
  count_t unknown = 0;         // queries with an index that the model does not have, or that has no entries
};

/// Which rows occur in X. Waits for `space`.
/// \throws UsageError when a coordinate is outside; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] ObservedRows observed_rows(Space const& space, CooTensor<Scalar, Index, Space> const& X);

/// The rows of `mode` with the highest predictions, which are not clipped: many would be the largest value
/// otherwise. A row is left out if `seen` has an entry with this row and the query's indices. An index beyond
/// the model's extents contributes neither bias nor factors. Waits for `space`. The rows do not depend on the
/// number of blocks, nor on the number of a host's threads.
/// \param queries  Q x (N - 1), row-major: an index of each mode but `mode`, or every_row
/// \param seen     of the model's order, of any extents; without entries: nothing is left out
/// \throws UsageError when shapes do not match, the count is 0 or a coordinate of `seen` is outside;
///         NumericalError when a prediction is not finite; MemoryError before allocating
template <class Scalar, class Index, class Space>
[[nodiscard]] Rankings recommend(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                                 std::span<count_t const> queries, RankingOptions const& options,
                                 CooTensor<Scalar, Index, Space> const& seen);

/// The same with nothing left out.
template <class Scalar, class Space>
[[nodiscard]] Rankings recommend(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                                 std::span<count_t const> queries, RankingOptions const& options = {}) {
  return recommend(space, model, mode, queries, options, CooTensor<Scalar, std::uint32_t, Space>{});
}

/// The rows of `mode` that are most similar to the given rows. Similarity is the cosine, from -1 to 1,
/// between what two rows of C^(mode) add to the predictions for all rows of the other modes. So it does not
/// depend on how the C^(n) are scaled. For a row of zeros it is 0. A row is not compared with itself. Waits
/// for `space`.
/// \param rows  Q rows of the mode
/// \throws UsageError for a row that the model does not have, otherwise as recommend
template <class Scalar, class Space>
[[nodiscard]] Rankings similar(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                               std::span<count_t const> rows, RankingOptions const& options = {});

}  // namespace polyad
