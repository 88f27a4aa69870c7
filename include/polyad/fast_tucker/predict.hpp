// SPDX-License-Identifier: BSD-3-Clause
// Predictions of a FastTucker model at given coordinates, and its errors (RMSE and MAE; Li et al.,
// "cuFasterTucker", 2022, section 6.1) against given values.
//
//   xhat = mean + sum_n bias^(n)(i_n) + sum_r prod_n C^(n)(i_n, r),  clipped to a range where one is given
//
// The matrices C^(n) = A^(n) B^(n) are formed once, so that an entry costs N rows of R, like an MTTKRP.
// Bytes an entry: s_r + N s_o streamed, N R s_r gathered.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>

#include "polyad/core/instances.hpp"
#include "polyad/core/lane_sum.hpp"
#include "polyad/core/row_form.hpp"
#include "polyad/core/whole_row_walk.hpp"
#include "polyad/dense/intermediates.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// The range that predictions are clipped to; unless told otherwise all numbers.
struct ValueRange {
  double lowest  = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

/// Errors of predictions over `entries` observations; zero when there are none. Not finite when a prediction
/// is not.
struct PredictionErrors {
  count_t entries = 0;
  double rmse     = 0;
  double mae      = 0;
};

/// C^(n) = A^(n) B^(n) for one mode. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void form_intermediates(Space const& space, FastTuckerModel<Scalar, Space> const& model, int n,
                        FactorMatrices<Scalar, Space> const& C) {
  intermediates(space, model.A(n), model.B(n), C[n]);
}

/// Newly allocated C^(n) of all modes.
template <class Scalar, class Space>
FactorMatrices<Scalar, Space> make_intermediates(Space const& space,
                                                 FastTuckerModel<Scalar, Space> const& model) {
  auto const C = make_packed_factors<Scalar>(space, model.extents(), model.rank());
  for (int n = 0; n < model.order(); ++n) form_intermediates(space, model, n, C);
  return C;
}

/// The partial sums of `errors`: two doubles a chunk.
template <class Space>
using ErrorSums = Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type>;

namespace detail {

/// Entries that a thread predicts. On hosts independent of the number of threads, so that the errors are.
template <class Space>
inline constexpr count_t predict_chunk = is_device_space<Space> ? 128 : 1024;

template <class Space, class Scalar, class Index, int Block>
struct PredictEntries {
  static constexpr RowForm form = is_device_space<Space> ? RowForm::packed : RowForm::simd;
  using Row                     = TinyVec<Space, Scalar, Block, form>;

  Index const* indices;  // P x N
  Scalar const* values;  // null: none to compare with
  Scalar const* C[max_order];
  count_t stride;  // of all C
  Scalar const* bias[max_order];
  int order;
  int rank;
  bool has_biases;
  double mean;
  ValueRange range;
  Scalar* predictions;  // null: only the errors are wanted
  double* sums;         // two a chunk: of squared and of absolute errors
  WholeRowWalk entries;

  [[nodiscard]] KOKKOS_FUNCTION Scalar const* row(int n, Index index) const {
    return C[n] + static_cast<count_t>(index) * stride;
  }
  [[nodiscard]] KOKKOS_FUNCTION double predict(Index const* index, int lane) const {
    Scalar sum = 0;
    for (int first = 0; first < rank; first += Block) {
      Columns const columns = columns_or_none<Row>(first, rank, lane);
      Row product(row(1, index[1]), columns);
      for (int n = 2; n < order; ++n) product *= Row(row(n, index[n]), columns);
      sum += product.dot(Row(row(0, index[0]), columns), columns);
    }
    double prediction = mean + static_cast<double>(sum_over_lanes<Row::lanes>(sum));
    if (has_biases)
      for (int n = 0; n < order; ++n) prediction += static_cast<double>(bias[n][index[n]]);
    // Written so that NaN stays.
    if (prediction < range.lowest) prediction = range.lowest;
    if (prediction > range.highest) prediction = range.highest;
    return prediction;
  }

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, int lane) const {
    double squares   = 0;
    double absolutes = 0;
    for (count_t p = begin; p < end; ++p) {
      double const prediction = predict(indices + p * static_cast<count_t>(order), lane);
      if (predictions != nullptr) {
        if (lane == 0) predictions[p] = static_cast<Scalar>(prediction);
      } else {
        double const error = static_cast<double>(values[p]) - prediction;
        squares += error * error;
        absolutes += Kokkos::abs(error);
      }
    }
    if (predictions == nullptr && lane == 0) {
      count_t const chunk = begin / entries.chunk;
      sums[2 * chunk]     = squares;
      sums[2 * chunk + 1] = absolutes;
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    entries.template operator()<Row>(member,
                                     [&](count_t begin, count_t end, int lane) { walk(begin, end, lane); });
  }
};

/// One team adds up the chunks' sums, on one device always in the same order: total(j) = sum of sums(c, j).
template <class Space>
struct AddErrorSums {
  ErrorSums<Space> sums;
  count_t chunks;
  Kokkos::View<double*, typename Space::device_type> totals;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    for (int j = 0; j < 2; ++j) {
      double total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamVectorRange(member, chunks),
          [&](count_t const c, double& partial) { partial += sums(c, j); }, total);
      Kokkos::single(Kokkos::PerTeam(member), [&] { totals(j) = total; });
    }
  }
};

}  // namespace detail

/// Predicts the entries of `places`, whose values play no part. Launches on `space` and returns without
/// waiting.
/// \param C            intermediates of the model, rows that allow 16-byte packs (make_packed_factors)
/// \param predictions  one number an entry, overwritten
/// \throws UsageError when shapes do not match
template <class Space, class Scalar, class Index>
void predict(Space const& space, FastTuckerModel<Scalar, Space> const& model,
             FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& places,
             ValueRange const& range, Kokkos::View<Scalar*, typename Space::device_type> const& predictions);

/// Errors of the model's predictions of X's values. Waits for `space`. The same bits in every run on one
/// device, and on hosts with any number of threads.
/// \param sums  scratch that make_error_sums(space, X.nnz()) gave
/// \throws UsageError when shapes do not match
template <class Space, class Scalar, class Index>
PredictionErrors errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                        FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& X,
                        ValueRange const& range, ErrorSums<Space> const& sums);

/// \throws MemoryError
template <class Space>
ErrorSums<Space> make_error_sums(Space const& space, count_t entries) {
  // The last row takes the totals.
  count_t const rows = ceil_div(entries, detail::predict_chunk<Space>) + 1;
  expect_fits(space, "the partial sums of errors", rows, 2 * sizeof(double));
  return ErrorSums<Space>(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::error_sums"), rows,
                          2);
}

#define POLYAD_PREDICT(Scalar, Index)                                                                      \
  template void predict(Kokkos::DefaultExecutionSpace const&,                                              \
                        FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,                     \
                        FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&,                      \
                        CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, ValueRange const&, \
                        Kokkos::View<Scalar*, Kokkos::DefaultExecutionSpace::device_type> const&)
#define POLYAD_ERRORS(Scalar, Index)                                                               \
  template PredictionErrors errors(Kokkos::DefaultExecutionSpace const&,                           \
                                   FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,  \
                                   FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&,   \
                                   CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                                   ValueRange const&, ErrorSums<Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_PREDICT);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_ERRORS);

}  // namespace polyad
