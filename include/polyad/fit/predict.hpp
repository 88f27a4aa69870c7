// SPDX-License-Identifier: BSD-3-Clause
// The values of a CP or Tucker model at given coordinates, what is left of given values, and the errors:
//
//   CP      m(i) = sum over r of lambda_r prod over n of A^(n)(i_n, r)
//   Tucker  m(i) = sum over j of G(j) prod over n of U^(n)(i_n, j_n)
//
// The places are numbered as in the tensor that the model was fitted to. A row that the model does not store
// (tensor/stored_rows.hpp) is zero. Products and sums are taken in double precision whatever Scalar is, and
// each result is rounded once. It is not a finite number if the model or the given value is not. Bytes per
// entry: s_r + N s_o streamed; gathered N R s_r for CP, and sum_n R_n s_r for Tucker, whose core is read once
// for each entry, from a cache if it fits one.
#pragma once

#include <Kokkos_Core.hpp>
#include <concepts>
#include <string>

#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/ktensor.hpp"
#include "polyad/tensor/tucker_model.hpp"

namespace polyad {

/// One number for each entry.
template <class Scalar, class Space>
using EntryNumbers = Kokkos::View<Scalar*, typename Space::device_type>;

/// A Ktensor or a TuckerModel.
template <class Model, class Scalar, class Space>
concept HasValues =
    std::same_as<Model, Ktensor<Scalar, Space>> || std::same_as<Model, TuckerModel<Scalar, Space>>;

/// The model's values at the entries of `places`, whose own values are ignored. A mode of `places` may be
/// shorter than the model's, not longer. Waits for `space` once, to check the coordinates, and returns
/// without waiting for the values.
/// \param values  places.nnz() numbers, in the order of the entries, overwritten
/// \throws UsageError when shapes do not match or a coordinate is outside the extents of `places`;
///         MemoryError
template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
void predict(Space const& space, Model const& model, CooTensor<Scalar, Index, Space> const& places,
             EntryNumbers<Scalar, Space> const& values);

/// X's values minus the model's, subtracted before they are rounded. Waits and throws as predict.
/// \param residuals  X.nnz() numbers, in the order of the entries, overwritten; may be X.values()
template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
void residuals(Space const& space, Model const& model, CooTensor<Scalar, Index, Space> const& X,
               EntryNumbers<Scalar, Space> const& residuals);

/// The errors of the model's values against X's. Duplicates count separately. Squares neither overflow nor
/// vanish. Waits for `space`. The result has the same bits in every run on one device, and on hosts with any
/// number of threads. \throws UsageError as predict; MemoryError
template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
[[nodiscard]] PredictionErrors errors(Space const& space, Model const& model,
                                      CooTensor<Scalar, Index, Space> const& X);

namespace detail {

template <class Scalar, class Space>
EntryNumbers<Scalar, Space> make_entry_numbers(Space const& space, char const* label, count_t entries) {
  expect_fits(space, "the values of the entries", entries, sizeof(Scalar));
  return EntryNumbers<Scalar, Space>(uninitialized(space, label), entries);
}

}  // namespace detail

/// predict into a newly allocated View. \throws UsageError as above; MemoryError before allocating
template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
[[nodiscard]] EntryNumbers<Scalar, Space> predict(Space const& space, Model const& model,
                                                  CooTensor<Scalar, Index, Space> const& places) {
  auto const values = detail::make_entry_numbers<Scalar>(space, "polyad::model_values", places.nnz());
  predict(space, model, places, values);
  return values;
}

/// residuals into a newly allocated View. \throws UsageError as above; MemoryError before allocating
template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
[[nodiscard]] EntryNumbers<Scalar, Space> residuals(Space const& space, Model const& model,
                                                    CooTensor<Scalar, Index, Space> const& X) {
  auto const left = detail::make_entry_numbers<Scalar>(space, "polyad::residuals", X.nnz());
  residuals(space, model, X, left);
  return left;
}

}  // namespace polyad
