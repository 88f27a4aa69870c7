// SPDX-License-Identifier: BSD-3-Clause
// Models of fast_tucker as arrays of the engine, and back.
#pragma once

#include <span>
#include <vector>

#include "polyad/tensor/fast_tucker_model.hpp"
#include "views.hpp"

namespace polyad::python {

/// The arrays as a model, which shares their memory on hosts.
template <class Scalar>
FastTuckerModel<Scalar, Space> model_of(FastTuckerArrays const& arrays) {
  Extents const extents{std::span<count_t const>(arrays.extents)};
  // A model of one column; the Views of the arrays then replace its Views.
  std::vector<count_t> const one(arrays.extents.size(), 1);
  FastTuckerModel<Scalar, Space> model(Space(), extents, one, arrays.rank, !arrays.biases.empty());
  POLYAD_EXPECTS(arrays.factors.size() == one.size() && arrays.cores.size() == one.size(), "a model of ",
                 one.size(), " modes has as many factors and cores");
  for (int n = 0; n < model.order(); ++n) {
    model.A(n) = packed_matrix_view<Scalar>(arrays.factors[n]);
    model.B(n) = packed_matrix_view<Scalar>(arrays.cores[n]);
    POLYAD_EXPECTS(model.A(n).extent(0) == extents[n] && model.B(n).extent(0) == model.A(n).extent(1) &&
                       model.B(n).extent(1) == arrays.rank,
                   "the factor and the core of mode ", n, " do not fit");
    if (!arrays.biases.empty()) {
      model.bias(n) = vector_view<Scalar>(arrays.biases[n]);
      POLYAD_EXPECTS(model.bias(n).extent(0) == extents[n], "the biases of mode ", n, " do not fit");
    }
  }
  model.mean          = arrays.mean;
  model.range.lowest  = arrays.lowest;
  model.range.highest = arrays.highest;
  if (arrays.time_mode < 0) return model;

  POLYAD_EXPECTS(arrays.time_mode < model.order() && arrays.drifts.size() == one.size(), "mode ",
                 arrays.time_mode, " cannot be time: there are ", one.size(), " modes and ",
                 arrays.drifts.size(), " drifts");
  model.time_mode = arrays.time_mode;
  for (int n = 0; n < model.order(); ++n) {
    Array const& drift = arrays.drifts[n];
    POLYAD_EXPECTS(drift.shape.size() == 2 && drift.shape[0] == extents[n], "the drift of mode ", n,
                   " does not fit");
    // time_bin multiplies them
    static_cast<void>(checked_product("the bins of time", drift.shape[1], extents[model.time_mode]));
    if (drift.shape[1] > 0) model.drift(n) = packed_matrix_view<Scalar>(drift);
  }
  return model;
}

/// A copy of the model.
template <class Scalar>
FastTuckerArrays arrays_of(FastTuckerModel<Scalar, Space> const& model) {
  FastTuckerArrays arrays;
  arrays.extents = to_vector(model.extents());
  arrays.rank    = model.rank();
  for (int n = 0; n < model.order(); ++n) {
    arrays.factors.push_back(to_array(model.A(n), false));
    arrays.cores.push_back(to_array(model.B(n), false));
    if (model.has_biases()) arrays.biases.push_back(to_array(model.bias(n), false));
  }
  arrays.time_mode = model.time_mode;
  for (int n = 0; n < model.order() && model.time_mode >= 0; ++n) {
    Array stays;  // its bias
    stays.shape   = {model.extents()[n], 0};
    stays.strides = {0, 1};
    stays.type    = type_of<Scalar>();
    arrays.drifts.push_back(model.drift(n).extent(1) > 0 ? to_array(model.drift(n), false) : stays);
  }
  arrays.mean    = model.mean;
  arrays.lowest  = model.range.lowest;
  arrays.highest = model.range.highest;
  return arrays;
}

}  // namespace polyad::python
