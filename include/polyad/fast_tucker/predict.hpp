// SPDX-License-Identifier: BSD-3-Clause
// Predictions of a FastTucker model at given coordinates, and its errors (RMSE and MAE; Li et al.,
// "cuFasterTucker", 2022, section 6.1) against given values.
//
//   xhat = mean + sum_n bias^(n)(i_n) + sum_r prod_n C^(n)(i_n, r),  clipped to model.range
//
// Drifts of the biases are added if the model has any (tensor/fast_tucker_model.hpp).
// The matrices C^(n) = A^(n) B^(n) are formed once, so that each entry reads N rows of R, as in an MTTKRP.
// Bytes per entry: s_r + N s_o streamed, N R s_r gathered.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/fit/predict.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// C^(n) (I_n x R) = A^(n) B^(n) for one mode. Launches on `space` and returns without waiting.
/// \throws UsageError when the shapes do not match
template <class Scalar, class Space>
void form_intermediates(Space const& space, FastTuckerModel<Scalar, Space> const& model, int n,
                        FactorMatrices<Scalar, Space> const& C);

/// Newly allocated C^(n) (I_n x R) of all modes, with packed rows. Launches on `space` and returns without
/// waiting. \throws MemoryError
template <class Scalar, class Space>
[[nodiscard]] FactorMatrices<Scalar, Space> make_intermediates(Space const& space,
                                                               FastTuckerModel<Scalar, Space> const& model);

/// The partial sums of `errors`: three doubles per chunk of entries.
template <class Space>
using ErrorSums = Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type>;

/// Predicts the entries of `places` and ignores their values. Its modes may be shorter than the model's, not
/// longer. Waits for `space` once, to check the coordinates, and returns without waiting for the predictions.
/// \param C            intermediates of the model (make_intermediates): I_n x R, packed rows on hosts too
/// \param predictions  places.nnz() numbers, in the order of the entries, overwritten
/// \throws UsageError when shapes do not match or a coordinate is outside the extents of `places`
template <class Space, class Scalar, class Index>
void predict(Space const& space, FastTuckerModel<Scalar, Space> const& model,
             FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& places,
             Kokkos::View<Scalar*, typename Space::device_type> const& predictions);

/// The same with a newly allocated View. Waits in the same way.
/// \throws UsageError as above; MemoryError before allocating
template <class Space, class Scalar, class Index>
[[nodiscard]] Kokkos::View<Scalar*, typename Space::device_type> predict(
    Space const& space, FastTuckerModel<Scalar, Space> const& model,
    CooTensor<Scalar, Index, Space> const& places) {
  expect_fits(space, "the predictions", places.nnz(), sizeof(Scalar));
  Kokkos::View<Scalar*, typename Space::device_type> const predictions(
      uninitialized(space, "polyad::predictions"), places.nnz());
  predict(space, model, make_intermediates(space, model), places, predictions);
  return predictions;
}

/// Errors of the model's predictions of X's values. Waits for `space`. The result has the same bits in every
/// run on one device, and on hosts with any number of threads.
/// \param C     as for predict
/// \param sums  scratch from make_error_sums(space, X.nnz())
/// \throws UsageError when shapes do not match or a coordinate is outside
template <class Space, class Scalar, class Index>
[[nodiscard]] PredictionErrors errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                      FactorMatrices<Scalar, Space> const& C,
                                      CooTensor<Scalar, Index, Space> const& X, ErrorSums<Space> const& sums);

/// Scratch for `errors` of `entries` entries. \throws MemoryError
template <class Space>
[[nodiscard]] ErrorSums<Space> make_error_sums(Space const& space, count_t entries);

/// The same, which makes intermediates and scratch itself. Waits for `space`.
/// \throws UsageError when shapes do not match; MemoryError before allocating
template <class Space, class Scalar, class Index>
[[nodiscard]] PredictionErrors errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                      CooTensor<Scalar, Index, Space> const& X) {
  return errors(space, model, make_intermediates(space, model), X, make_error_sums(space, X.nnz()));
}

}  // namespace polyad
