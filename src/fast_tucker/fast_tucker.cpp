// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "fast_tucker/epochs.hpp"
#include "fast_tucker/kept_model.hpp"
#include "polyad/core/instances.hpp"

namespace polyad {

using namespace detail;

namespace {

/// \param model  the start, which becomes the result
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                    FastTuckerData<Scalar, Index, Space> const& data,
                                    FastTuckerOptions const& options, FastTuckerModel<Scalar, Space> model,
                                    FastTuckerCallback const& callback) {
  model.range = {std::max(model.range.lowest, options.range.lowest),
                 std::min(model.range.highest, options.range.highest)};
  FastTuckerEpochs<Scalar, Index, Space> epochs(space, X, model, options);
  auto const sums =
      make_error_sums(space, std::max({data.train.nnz(), data.validation.nnz(), data.test.nnz()}));
  detail::KeptModel<Scalar, Space> const kept(space, model);
  kept.keep(space, model);
  double const most = 10 * std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
  bool const tells  = options.patience > 0 && data.validation.nnz() > 0;
  double best       = std::numeric_limits<double>::infinity();
  if (tells) {  // epoch 0 are mean and biases alone: no interaction, where no epoch is better
    auto none = epochs.intermediates();
    none[0]   = make_factor_matrix<Scalar>(space, "polyad::no_interaction", model.extents()[0], model.rank());
    best      = errors(space, model, none, data.validation, sums).rmse;
    zero_matrix(space, kept.A[0]);
  }
  FastTuckerResult<Scalar, Space> result;
  Kokkos::Timer const total;
  for (int epoch = 1; epoch <= options.max_epochs; ++epoch) {
    Kokkos::Timer const clock;
    epochs.run();
    space.fence("polyad::fast_tucker");
    double const seconds = clock.seconds();
    auto const& C        = epochs.intermediates();
    auto const errors_of = [&](auto const& entries) { return errors(space, model, C, entries, sums); };
    FastTuckerEpoch const report{epoch, errors_of(data.train), errors_of(data.validation),
                                 errors_of(data.test), seconds};
    if (!(report.train.rmse <= most || report.train.rmse == 0)) {  // written so that NaN diverges
      result.reason = StopReason::diverged;
      kept.restore(space, model);
      break;
    }
    result.history.push_back(report);
    if (!tells || report.validation.rmse < best) {
      best              = report.validation.rmse;
      result.kept_epoch = epoch;
      kept.keep(space, model);
    }
    if (callback && !callback(result.history.back())) {
      result.reason = StopReason::interrupted;
      break;
    }
    if (tells && epoch - result.kept_epoch >= options.patience) {
      result.reason = StopReason::early_stop;
      break;
    }
    if (total.seconds() >= options.time_limit_s) {
      result.reason = StopReason::time_limit;
      break;
    }
  }
  if (tells) kept.restore(space, model);
  space.fence("polyad::fast_tucker");
  result.model = model;
  return result;
}

/// The training set without the model's mean and biases, in a format.
template <class Scalar, class Index, class Space>
AnyFormat<Scalar, Index, Space> interactions(Space const& space,
                                             FastTuckerData<Scalar, Index, Space> const& data,
                                             FastTuckerOptions const& options,
                                             FastTuckerModel<Scalar, Space> const& model) {
  if (data.format) return *data.format;
  auto format = format_options(options);
  format.rank = model.rank();
  return any_format(space, without_biases(space, data.train, model), format);
}

PredictionErrors times(PredictionErrors errors, double factor) {
  errors.rmse *= factor;
  errors.mae *= factor;
  return errors;
}

FastTuckerEpoch times(FastTuckerEpoch epoch, double factor) {
  for (auto* errors : {&epoch.train, &epoch.validation, &epoch.test}) *errors = times(*errors, factor);
  return epoch;
}

/// A model with numbers of its own for the biases, which shares A^(n) and B^(n).
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> with_own_biases(Space const& space, FastTuckerModel<Scalar, Space> model) {
  for (int n = 0; n < model.order(); ++n) {
    if (model.has_biases()) {
      auto const bias = model.bias(n);
      model.bias(n)   = BiasVector<Scalar, Space>(
          Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::scaled_bias"), bias.extent(0));
      Kokkos::deep_copy(space, model.bias(n), bias);
    }
    auto const drift = model.drift(n);
    if (drift.extent(1) == 0) continue;
    model.drift(n) =
        make_factor_matrix<Scalar>(space, "polyad::scaled_drift", drift.extent(0), drift.extent(1));
    copy_matrix(space, model.drift(n), drift);
  }
  return model;
}

/// fit, of values times value_scale.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_scaled(Space const& space,
                                           FastTuckerData<Scalar, Index, Space> const& data,
                                           FastTuckerOptions const& options,
                                           FastTuckerModel<Scalar, Space> const& start,
                                           FastTuckerCallback const& callback) {
  double const factor = data.format ? 1 : value_scale(space, data.train, options);
  if (factor == 1)
    return fit(space, interactions(space, data, options, start), data, options, start, callback);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  auto model = with_own_biases(space, start);
  scale_predictions(space, factor, model, options.targets);
  auto const near_one = scaled(space, data, factor);
  auto result         = fit(space, interactions(space, near_one, inner, model), near_one, inner, model,
                            FastTuckerCallback([&](FastTuckerEpoch const& epoch) {
                      return !callback || callback(times(epoch, 1 / factor));
                            }));
  scale_predictions(space, 1 / factor, result.model, options.targets);
  result.model.share_biases(start);
  for (auto& epoch : result.history) epoch = times(epoch, 1 / factor);
  return result;
}

/// Mean and biases alone, fitted to the training set.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> only_biases(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options) {
  FastTuckerResult<Scalar, Space> result;
  std::vector<count_t> const one_column(static_cast<std::size_t>(data.train.order()), 1);
  result.model = FastTuckerModel<Scalar, Space>(space, data.train.extents(), one_column, 1, options.biases);
  result.model.range = options.range;
  if (options.biases) fit_biases(space, data.train, options.bias, result.model);
  result.reason = StopReason::converged;
  return result;
}

}  // namespace

FastTuckerOptions with_shape(FastTuckerOptions options, int order) {
  auto& columns = options.columns;
  if (options.rank == 0)
    options.rank = columns.empty() ? 8 : *std::max_element(columns.begin(), columns.end());
  if (columns.empty()) columns = {options.rank};
  if (columns.size() == 1) columns.assign(static_cast<std::size_t>(order), columns[0]);
  // A row's system and products, as least squares hold them (formats/format.hpp). A start of that size would
  // take hours before a kernel refused it.
  count_t const R = options.rank;
  for (count_t const J : columns) {
    count_t const unknowns = std::min(J, R), numbers = checked_product("the system of a row", R + J, R);
    count_t const bytes =
        checked_product("the system of a row", unknowns, unknowns * sizeof(double)) + numbers * sizeof(float);
    if (options.optimizer == FastTuckerOptimizer::als && bytes > std::numeric_limits<int>::max())
      throw MemoryError("the least squares of a row", bytes,
                        "J = " + std::to_string(J) + ", R = " + std::to_string(R) + ": take fewer columns");
  }
  return options;
}

AnyFormatOptions format_options(FastTuckerOptions const& options) {
  AnyFormatOptions format;
  format.rank       = with_shape(options, 1).rank;
  format.iterations = options.max_epochs;
  switch (options.optimizer) {
    case FastTuckerOptimizer::als:
      format.needs = {Capability::residual_sweep, Capability::row_least_squares};
      break;
    case FastTuckerOptimizer::adam:
      format.needs = {Capability::residual_sweep};
      break;
    case FastTuckerOptimizer::sgd:
      format.needs = {Capability::sgd};
  }
  return format;
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space> const& start,
                                            FastTuckerCallback const& callback) {
  return fit_scaled(space, data, options, start, callback);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerCallback const& callback) {
  POLYAD_EXPECTS(!data.format, "a format that is chosen already wants the start whose biases it is without");
  if (!leaves_choice(options)) {
    auto const shaped = with_shape(options, data.train.order());
    FastTuckerModel<Scalar, Space> model(space, data.train.extents(), shaped.columns, shaped.rank,
                                         options.biases);
    if (options.biases) fit_biases(space, data.train, options.bias, model);
    auto const X = interactions(space, data, shaped, model);
    POLYAD_EXPECTS(X.nnz() > 0, "there are no entries to learn from");
    fill_start(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), options.seed,
               options.targets);
    return value_scale(space, data.train, shaped) == 1 ? fit(space, X, data, shaped, model, callback)
                                                       : fit_scaled(space, data, shaped, model, callback);
  }
  POLYAD_EXPECTS(data.train.nnz() > 0, "there are no entries to learn from");
  auto choice = choose_fast_tucker(space, data.train, options);
  FastTuckerResult<Scalar, Space> result;
  if (choice.learns) {
    auto model = choice.start;
    if (options.biases) fit_biases(space, data.train, choice.options.bias, model);
    result = fit_scaled(space, data, choice.options, model, callback);
  } else {
    result = only_biases(space, data, choice.options);
  }
  result.choice = std::move(choice);
  return result;
}

#define POLYAD_FAST_TUCKER(Scalar, Index)                                                            \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                      \
      Kokkos::DefaultExecutionSpace const&,                                                          \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&, \
      FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, FastTuckerCallback const&);     \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                      \
      Kokkos::DefaultExecutionSpace const&,                                                          \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&, \
      FastTuckerCallback const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER);

}  // namespace polyad
