// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "fast_tucker/entries.hpp"
#include "fast_tucker/epochs.hpp"
#include "fast_tucker/kept_model.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad {

using namespace detail;

namespace {

/// What a run learns from, and what it is judged by.
template <class Scalar, class Index, class Space>
struct Sets {
  Entries<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation, test;
};

template <class Scalar, class Index, class Space>
Sets<Scalar, Index, Space> sets_of(Space const& space, FastTuckerData<Scalar, Index, Space> const& data) {
  bool const on_host = data.train_on_host.order() > 0;
  POLYAD_EXPECTS(!on_host || data.train.order() == 0,
                 "the training set is either on the device or in host memory");
  if (on_host) return {entries_on_host<Scalar, Index>(space, data.train_on_host), data.validation, data.test};
  return {Entries<Scalar, Index, Space>(data.train), data.validation, data.test};
}

template <class Scalar, class Index, class Space>
Sets<Scalar, Index, Space> scaled_sets(Space const& space, Sets<Scalar, Index, Space> const& sets,
                                       double factor) {
  FastTuckerData<Scalar, Index, Space> data;
  data.validation  = sets.validation;
  data.test        = sets.test;
  auto const other = scaled(space, data, factor);
  return {detail::scaled(space, sets.train, factor), other.validation, other.test};
}

/// Room for the errors of each set.
template <class Scalar, class Index, class Space>
ErrorSums<Space> sums_for(Space const& space, Sets<Scalar, Index, Space> const& sets) {
  return make_error_sums(space, std::max({sets.train.nnz(), sets.validation.nnz(), sets.test.nnz()}));
}

/// The errors of the model's mean and biases alone.
template <class Scalar, class Index, class Space>
FastTuckerErrors errors_of_biases(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                  Sets<Scalar, Index, Space> const& sets, ErrorSums<Space> const& sums) {
  std::vector<count_t> const one_column(static_cast<std::size_t>(model.order()), 1);
  FastTuckerModel<Scalar, Space> alone(space, model.extents(), one_column, 1, false);
  alone.share_biases(model);
  alone.range  = model.range;
  auto const C = make_intermediates(space, alone);  // of zeros
  return {detail::errors(space, alone, C, sets.train, sums), errors(space, alone, C, sets.validation, sums),
          errors(space, alone, C, sets.test, sums)};
}

/// \param model  the start, which becomes the result
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                    Sets<Scalar, Index, Space> const& sets, FastTuckerOptions const& options,
                                    FastTuckerModel<Scalar, Space> model,
                                    FastTuckerCallback const& callback) {
  FastTuckerResult<Scalar, Space> result;
  result.format   = {X.chosen(), X.chosen_because(), X.storage_bytes(), X.build_seconds(), X.candidates()};
  model.range     = {std::max(model.range.lowest, options.range.lowest),
                     std::min(model.range.highest, options.range.highest)};
  auto const sums = sums_for(space, sets);
  result.biases   = errors_of_biases(space, model, sets, sums);
  FastTuckerEpochs<Scalar, Index, Space> epochs(space, X, model, options);
  detail::KeptModel<Scalar, Space> const kept(space, model);
  kept.keep(space, model);
  double const most = 10 * std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
  bool const tells  = options.patience > 0 && sets.validation.nnz() > 0;
  double best       = std::numeric_limits<double>::infinity();
  if (tells) {  // epoch 0 are mean and biases alone: no interaction, where no epoch is better
    best = result.biases.validation.rmse;
    zero_matrix(space, kept.A[0]);
  }
  Kokkos::Timer const total;
  for (int epoch = 1; epoch <= options.max_epochs; ++epoch) {
    Kokkos::Timer const clock;
    epochs.run();
    space.fence("polyad::fast_tucker");
    double const seconds = clock.seconds();
    auto const& C        = epochs.intermediates();
    FastTuckerEpoch const report{epoch, detail::errors(space, model, C, sets.train, sums),
                                 errors(space, model, C, sets.validation, sums),
                                 errors(space, model, C, sets.test, sums), seconds};
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

PredictionErrors times(PredictionErrors errors, double factor) {
  errors.rmse *= factor;
  errors.mae *= factor;
  return errors;
}

/// FastTuckerEpoch or FastTuckerErrors.
template <class Errors>
Errors times(Errors sets, double factor) {
  for (auto* errors : {&sets.train, &sets.validation, &sets.test}) *errors = times(*errors, factor);
  return sets;
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

/// fit, of values times value_scale, in a format that is made for it.
/// \param fills  whether the start is to be filled (fill_start)
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_scaled(Space const& space, Sets<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options,
                                           FastTuckerModel<Scalar, Space> const& start, bool fills,
                                           AnyFormatOptions const& format,
                                           FastTuckerCallback const& callback) {
  auto const fit_values = [&](Sets<Scalar, Index, Space> const& of, FastTuckerOptions const& with,
                              FastTuckerModel<Scalar, Space> const& model, FastTuckerCallback const& tell) {
    auto const X = interactions(space, of.train, model, asked_of(format, with));
    POLYAD_EXPECTS(X.nnz() > 0, "there are no entries to learn from");
    if (fills)
      fill_start(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), with.seed,
                 with.targets);
    auto fitted = fit(space, X, of, with, model, tell);
    if (of.train.on_host() && format.format == "auto")
      fitted.format.because = "what a run holds of the training set does not fit the memory beside it";
    return fitted;
  };
  double const factor = detail::value_scale(space, sets.train, options);
  if (factor == 1) return fit_values(sets, options, start, callback);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  auto model = with_own_biases(space, start);
  scale_predictions(space, factor, model, options.targets);
  auto result   = fit_values(scaled_sets(space, sets, factor), inner, model,
                             FastTuckerCallback([&](FastTuckerEpoch const& epoch) {
                             return !callback || callback(times(epoch, 1 / factor));
                             }));
  result.biases = times(result.biases, 1 / factor);
  scale_predictions(space, 1 / factor, result.model, options.targets);
  result.model.share_biases(start);
  for (auto& epoch : result.history) epoch = times(epoch, 1 / factor);
  return result;
}

/// Mean and biases alone, fitted to the training set.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> only_biases(Space const& space, Sets<Scalar, Index, Space> const& sets,
                                            FastTuckerOptions const& options) {
  FastTuckerResult<Scalar, Space> result;
  std::vector<count_t> const one_column(static_cast<std::size_t>(sets.train.order()), 1);
  result.model = FastTuckerModel<Scalar, Space>(space, sets.train.extents(), one_column, 1, options.biases);
  result.model.range = options.range;
  if (options.biases) detail::fit_biases(space, sets.train, options.bias, result.model);
  result.reason = StopReason::converged;
  result.biases = errors_of_biases(space, result.model, sets, sums_for(space, sets));
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
bool stays_on_host(Space const& space, Extents const& extents, count_t entries,
                   FastTuckerOptions const& options, AnyFormatOptions const& format) {
  if (format.format != "auto") return format_offers(format.format, Capability::streaming);
  if (options.optimizer == FastTuckerOptimizer::sgd || !format.may_stream) return false;
  // A host gains nothing by it, unless it plays a device.
  if (std::is_same_v<typename HostOf<Space>::memory_space, typename Space::memory_space> &&
      !left_of_device_memory_limit() && !format.memory_bytes)
    return false;
  // In memory are the training set, in a search the part of it that is kept, and a format of that, which with
  // what its build needs is twice as large.
  auto const order     = static_cast<count_t>(extents.order());
  count_t const copies = leaves_choice(options) ? 4 : 3;
  count_t const bytes =
      checked_product("the training set", entries, copies * (sizeof(Scalar) + order * sizeof(Index)));
  return bytes >
         std::min(available_memory(space), format.memory_bytes.value_or(std::numeric_limits<count_t>::max()));
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space> const& start,
                                            FastTuckerCallback const& callback) {
  auto const sets = sets_of(space, data);
  if (data.format) return fit(space, *data.format, sets, options, start, callback);
  auto with = options;
  with.rank = start.rank();
  return fit_scaled(space, sets, with, start, false, {}, callback);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerCallback const& callback,
                                            AnyFormatOptions const& format) {
  POLYAD_EXPECTS(!data.format, "a format that is chosen already wants the start whose biases it is without");
  auto const sets = sets_of(space, data);
  if (!leaves_choice(options)) {
    auto const shaped = with_shape(options, sets.train.order());
    FastTuckerModel<Scalar, Space> model(space, sets.train.extents(), shaped.columns, shaped.rank,
                                         options.biases);
    if (options.biases) detail::fit_biases(space, sets.train, options.bias, model);
    return fit_scaled(space, sets, shaped, model, true, format, callback);
  }
  POLYAD_EXPECTS(sets.train.nnz() > 0, "there are no entries to learn from");
  auto choice = detail::choose(space, sets.train, options, format);
  if (format.hooks.progress) format.hooks.progress("choosing the shrinkage");
  FastTuckerResult<Scalar, Space> result;
  if (choice.learns) {
    auto model = choice.start;
    if (options.biases) detail::fit_biases(space, sets.train, choice.options.bias, model);
    result = fit_scaled(space, sets, choice.options, model, false, format, callback);
  } else {
    result = only_biases(space, sets, choice.options);
  }
  result.choice = std::move(choice);
  return result;
}

#define POLYAD_FAST_TUCKER(Scalar, Index)                                                                   \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                             \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,        \
      FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, FastTuckerCallback const&);            \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                             \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,        \
      FastTuckerCallback const&, AnyFormatOptions const&);                                                  \
  template bool stays_on_host<Scalar, Index>(Kokkos::DefaultExecutionSpace const&, Extents const&, count_t, \
                                             FastTuckerOptions const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER);

}  // namespace polyad
