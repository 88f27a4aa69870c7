// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <span>

#include "fast_tucker_arrays.hpp"
#include "polyad/cp/project.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/fit/predict.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "views.hpp"

namespace polyad::python {

namespace {

template <class Scalar, class Index>
void predict_as(FastTuckerArrays const& arrays, Array const& places, Array const& predictions) {
  auto const model      = model_of<Scalar>(arrays);
  Extents const extents = model.extents();
  using Coo             = CooTensor<Scalar, Index, Space>;
  auto const out        = vector_view<Scalar>(predictions);
  // Their values play no part: the output's memory stands for them.
  Coo const coo(extents, indices_view<Index>(places), out);
  polyad::predict(Space(), model, make_intermediates(Space(), model), coo, out);
  Space().fence("polyad::python");
  copy_back<Scalar>(predictions, out);
}

/// Rows first ... first + count - 1 of an array without gaps.
Array rows_of(Array const& array, std::size_t first, std::size_t count) {
  Array part       = array;
  std::size_t size = array.type == Type::f32 || array.type == Type::u32 ? 4 : 8;
  for (std::size_t k = 1; k < array.shape.size(); ++k) size *= array.shape[k];
  part.data     = static_cast<char*>(array.data) + first * size;
  part.shape[0] = count;
  return part;
}

template <class Scalar, class Index, class Model>
void values_of(Model const& model, Extents const& extents, Array const& places, Array const* given,
               Array const& out) {
  constexpr std::size_t most = std::size_t{1} << 22;  // 80 MB for three modes
  std::size_t const all = places.shape[0], step = is_at_hand(places) ? std::max<std::size_t>(all, 1) : most;
  for (std::size_t first = 0; first < all; first += step) {
    std::size_t const count = std::min(step, all - first);
    Array const to          = rows_of(out, first, count);
    auto const numbers      = vector_view<Scalar>(to);
    // Without given values the output's memory stands for them.
    CooTensor<Scalar, Index, Space> const coo(
        extents, indices_view<Index>(rows_of(places, first, count)),
        given == nullptr ? numbers : vector_view<Scalar>(rows_of(*given, first, count)));
    if (given == nullptr)
      polyad::predict(Space(), model, coo, numbers);
    else
      polyad::residuals(Space(), model, coo, numbers);
    Space().fence("polyad::python");
    copy_back<Scalar>(to, numbers);
  }
}

template <class Scalar, class Index>
void values_as(ValuedArrays const& arrays, Array const& places, Array const* given, Array const& out) {
  std::vector<count_t> sizes;
  for (std::size_t n = 0; n < arrays.factors.size(); ++n)
    sizes.push_back(arrays.rows.empty() ? arrays.factors[n].shape.at(0) : arrays.rows.at(n).extent());
  Extents const extents{std::span<count_t const>(sizes)};
  if (arrays.core.empty()) {
    Ktensor<Scalar, Space> const model{arrays.weights, matrix_views<Scalar>(arrays.factors, extents),
                                       arrays.rows};
    return values_of<Scalar, Index>(model, extents, places, given, out);
  }
  TuckerModel<Scalar, Space> model;
  for (auto const& factor : arrays.factors) model.factors.push_back(matrix_view<Scalar>(factor));
  model.core = matrix_view<Scalar>(arrays.core[0]);
  model.rows = arrays.rows;
  values_of<Scalar, Index>(model, extents, places, given, out);
}

std::span<count_t const> numbers_of(Array const& array) {
  count_t count = 1;
  for (auto const size : array.shape) count *= size;
  POLYAD_EXPECTS(array.type == Type::u64, "indices are of uint64");
  return {static_cast<count_t const*>(array.data), count};
}

Ranked to_ranked(Rankings&& found) {
  return {std::move(found.starts), std::move(found.rows), std::move(found.scores), found.unknown};
}

/// Calls f(model) with the model of the factors' type.
template <class F>
Ranked with_model(FastTuckerArrays const& arrays, F&& f) {
  POLYAD_EXPECTS(!arrays.factors.empty(), "a model without modes");
  return to_ranked(arrays.factors[0].type == Type::f32 ? f(model_of<float>(arrays))
                                                       : f(model_of<double>(arrays)));
}

/// Calls f(format, factors) for the format's types.
template <class F>
auto with_factors(FormatPtr const& format, std::vector<Array> const& arrays, F&& f) {
  return visit<FormatOf>(*format, [&](auto const& of) {
    using Scalar       = typename std::remove_cvref_t<decltype(of.any)>::scalar_type;
    auto const factors = matrix_views<Scalar>(arrays, of.any.extents());
    return f(of.any, factors);
  });
}

template <class X, class Factors, class V>
void multiply(X const& any, Factors const& factors, int mode, V const& out) {
  auto workspace = any.make_workspace(Space(), factors.rank());
  polyad::mttkrp(Space(), any, factors, mode, workspace, out);
  Space().fence("polyad::python");
}

}  // namespace

Projection project(FormatPtr const& format, std::vector<double> const& weights,
                   std::vector<Array> const& factors, std::vector<std::vector<double>> const& constraints,
                   int mode) {
  return with_factors(format, factors, [&](auto const& any, auto const& matrices) {
    using Scalar = typename std::remove_cvref_t<decltype(any)>::scalar_type;
    Ktensor<Scalar, Space> model{weights, matrices};
    for (auto const& c : constraints) model.constraints.push_back({c.at(0), c.at(1), c.at(2), c.at(3)});
    auto const found = polyad::project(Space(), model, any, mode);
    return Projection{to_array(found.rows, format->on_device()), found.fit, found.objective};
  });
}

void predict(FastTuckerArrays const& model, Array const& places, Array const& predictions) {
  POLYAD_EXPECTS(places.shape.size() == 2 && places.shape[1] == model.extents.size() &&
                     predictions.shape.size() == 1 && places.shape[0] == predictions.shape[0],
                 "places are rows of ", model.extents.size(), " numbers, one for each prediction");
  bool const narrow = places.type == Type::u32;
  if (predictions.type == Type::f32)
    return narrow ? predict_as<float, std::uint32_t>(model, places, predictions)
                  : predict_as<float, std::uint64_t>(model, places, predictions);
  return narrow ? predict_as<double, std::uint32_t>(model, places, predictions)
                : predict_as<double, std::uint64_t>(model, places, predictions);
}

void model_values(ValuedArrays const& model, Array const& places, Array const* given, Array const& out) {
  auto const is_count = [&](Array const& array) {
    return array.shape.size() == 1 && array.shape[0] == places.shape.at(0);
  };
  POLYAD_EXPECTS(places.shape.size() == 2 && places.shape[1] == model.factors.size() && is_count(out) &&
                     (given == nullptr || is_count(*given)),
                 "places are rows of ", model.factors.size(), " numbers, one for each value");
  bool const narrow = places.type == Type::u32;
  if (out.type == Type::f32)
    return narrow ? values_as<float, std::uint32_t>(model, places, given, out)
                  : values_as<float, std::uint64_t>(model, places, given, out);
  return narrow ? values_as<double, std::uint32_t>(model, places, given, out)
                : values_as<double, std::uint64_t>(model, places, given, out);
}

Ranked recommend(FastTuckerArrays const& arrays, int mode, Array const& queries, std::uint64_t count,
                 TensorPtr const& seen) {
  static_assert(every_row_of_mode == every_row);
  POLYAD_EXPECTS(queries.shape.size() == 2 && queries.shape[1] + 1 == arrays.extents.size(),
                 "queries have an index of each of the ", arrays.extents.size(), " modes but one");
  RankingOptions options;
  options.count    = count;
  options.observed = arrays.observed;
  if (!seen)
    return with_model(arrays, [&](auto const& model) {
      return polyad::recommend(Space(), model, mode, numbers_of(queries), options);
    });
  return visit<TensorOf>(*seen, [&](auto const& of) {
    using Scalar = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    return to_ranked(
        polyad::recommend(Space(), model_of<Scalar>(arrays), mode, numbers_of(queries), options, of.coo));
  });
}

Evaluation evaluate(FastTuckerArrays const& arrays, TensorPtr const& test, EvaluationOptions options,
                    TensorPtr const& seen) {
  options.observed = arrays.observed;
  return visit<TensorOf>(*test, [&](auto const& of) {
    using Coo           = std::remove_cvref_t<decltype(of.coo)>;
    using Scalar        = typename Coo::scalar_type;
    auto const* const s = dynamic_cast<std::remove_cvref_t<decltype(of)> const*>(seen.get());
    POLYAD_EXPECTS(!seen || s != nullptr, "test entries and those that were seen have the same types");
    return polyad::evaluate(Space(), model_of<Scalar>(arrays), of.coo, options,
                            s != nullptr ? s->coo : Coo());
  });
}

Ranked similar(FastTuckerArrays const& arrays, int mode, Array const& rows, std::uint64_t count) {
  RankingOptions options;
  options.count    = count;
  options.observed = arrays.observed;
  return with_model(arrays, [&](auto const& model) {
    return polyad::similar(Space(), model, mode, numbers_of(rows), options);
  });
}

FastTuckerArrays fold_in(FastTuckerArrays const& arrays, TensorPtr const& entries, TensorPtr const& added,
                         FoldInOptions options) {
  options.observed = arrays.observed;
  return visit<TensorOf>(*entries, [&](auto const& of) {
    using Of         = std::remove_cvref_t<decltype(of)>;
    using Scalar     = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    auto const model = model_of<Scalar>(arrays);
    if (!added) return arrays_of(polyad::fold_in(Space(), model, of.coo, options));
    auto const* const more = dynamic_cast<Of const*>(added.get());
    POLYAD_EXPECTS(more != nullptr, "the added entries have values and coordinates of other types");
    return arrays_of(polyad::update_rows(Space(), model, of.coo, more->coo, options));
  });
}

Array mttkrp(FormatPtr const& format, std::vector<Array> const& arrays, int mode) {
  return with_factors(format, arrays, [&](auto const& any, auto const& factors) {
    using Scalar = typename std::remove_cvref_t<decltype(any)>::scalar_type;
    expect_mode(mode, any.extents());
    auto const V =
        make_factor_matrix<Scalar>(Space(), "polyad::product", any.extents()[mode], factors.rank());
    multiply(any, factors, mode, V);
    return to_array(V, format->on_device());
  });
}

void mttkrp(FormatPtr const& format, std::vector<Array> const& arrays, int mode, Array const& out) {
  with_factors(format, arrays, [&](auto const& any, auto const& factors) {
    using Scalar = typename std::remove_cvref_t<decltype(any)>::scalar_type;
    auto const V = matrix_view<Scalar>(out);
    multiply(any, factors, mode, V);
    copy_back<Scalar>(out, V);
    return 0;
  });
}

TensorPtr ttm(TensorPtr const& tensor, Array const& matrix, int mode) {
  return visit<TensorOf>(*tensor, [&](auto const& of) -> TensorPtr {
    using Of     = std::remove_cvref_t<decltype(of)>;
    using Scalar = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    auto const Y = to_coo(Space(), spttm(Space(), of.coo, packed_matrix_view<Scalar>(matrix), mode));
    Space().fence("polyad::python");
    return std::make_shared<Of>(Y, nullptr, of.stays);
  });
}

Array ttmc(TensorPtr const& tensor, std::vector<Array> const& matrices, int mode) {
  return visit<TensorOf>(*tensor, [&](auto const& of) {
    using Scalar = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    expect_mode(mode, of.coo.extents());
    POLYAD_EXPECTS(matrices.size() == static_cast<std::size_t>(of.coo.order()), matrices.size(),
                   " matrices for a tensor of order ", of.coo.order());
    std::vector<FactorMatrix<Scalar, Space>> U(matrices.size());
    for (int n = 0; n < of.coo.order(); ++n)
      if (n != mode) U[n] = matrix_view<Scalar>(matrices[n]);
    auto const Y =
        make_spttmc_output(Space(), of.coo.extents(), U, mode);  // refused before anything is sorted
    AnyFormatOptions options;
    options.needs      = {Capability::ttmc};
    options.iterations = 1;
    options.duplicates = Duplicates::keep;  // the product is linear
    spttmc(Space(), any_format(Space(), of.coo, options), U, mode, Y);
    Space().fence("polyad::python");
    return to_array(Y, of.stays);
  });
}

}  // namespace polyad::python
