// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "fast_tucker_arrays.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tucker/tucker.hpp"
#include "views.hpp"

namespace polyad::python {

namespace {

/// Whether rows that do not occur may be zero, and need not be stored.
bool zeros_are_allowed(CpAlsOptions const& options) {
  return options.fixed_modes.empty() && std::ranges::all_of(options.updates, [](ModeUpdate const& update) {
           return !update.constraints() || update.constraints()->allows_zero();
         });
}

/// The sizes of the modes of which a tensor has the rows `rows`.
Extents whole_extents(Extents const& stored, std::vector<StoredRows> const& rows) {
  if (rows.empty()) return stored;
  std::vector<count_t> extents;
  for (auto const& of_mode : rows) extents.push_back(of_mode.extent());
  return Extents(std::span<count_t const>(extents));
}

/// The matrix of mode n with the rows `rows`, a copy: the driver overwrites it.
template <class Scalar>
FactorMatrix<Scalar, Space> copy_of(FactorMatrix<Scalar, Space> const& given,
                                    std::vector<StoredRows> const& given_rows, Extents const& whole,
                                    std::vector<StoredRows> const& rows, int n) {
  StoredRows const all(whole[n]);
  return look_up_rows<Scalar, Space>(Space(), given, given_rows.empty() ? all : given_rows[n],
                                     rows.empty() ? all : rows[n]);
}

/// \param stored  the tensor's extents, of which it has the rows `rows`
template <class Scalar>
FactorMatrices<Scalar, Space> copy_of(Start const& start, Extents const& stored,
                                      std::vector<StoredRows> const& rows) {
  Extents const whole = whole_extents(stored, rows);
  auto given          = matrix_views<Scalar>(start.factors, whole);
  expect_factors(given, compact_extents(whole, start.rows));
  for (int n = 0; n < whole.order(); ++n) given[n] = copy_of<Scalar>(given[n], start.rows, whole, rows, n);
  return given;
}

/// Nothing for a random start.
template <class Scalar>
std::optional<FactorMatrices<Scalar, Space>> start_of(Start const& start, Extents const& stored,
                                                      std::vector<StoredRows> const& rows) {
  if (start.factors.empty()) return std::nullopt;
  return copy_of<Scalar>(start, stored, rows);
}

template <class Scalar>
CpResult run(AnyFormat<Scalar, Space> const& X, CpAlsOptions const& options, bool stays,
             std::optional<FactorMatrices<Scalar, Space>>&& start, OnIteration const& on_iteration) {
  auto const step = [&](CpAlsIteration const& it) {
    return Iteration{it.iteration,
                     it.fit,
                     it.delta,
                     it.seconds,
                     options.restarts > 1 ? std::optional(it.start) : std::nullopt,
                     it.phases};
  };
  CpAlsCallback callback;
  if (on_iteration) callback = [&](CpAlsIteration const& it) { return on_iteration(step(it)); };
  auto const result = start ? polyad::cp_als(Space(), X, options, std::move(*start), callback)
                            : polyad::cp_als(Space(), X, options, callback);
  CpResult out{result.model.weights,
               to_arrays(result.model.factors, stays),
               {},
               result.reason,
               result.fit,
               result.fit_error,
               result.gram_fallbacks,
               to_string(result.defect),
               result.model.rows,
               result.objective,
               result.kkt_violation,
               result.zeros,
               result.zero_components,
               result.restarts,
               result.best_restart,
               {}};
  for (auto const& c : result.model.constraints) out.constraints.push_back({c.lower, c.upper, c.l1, c.ridge});
  for (auto const& it : result.history) out.history.push_back(step(it));
  return out;
}

Errors errors_of(PredictionErrors const& errors) {
  return {errors.entries, errors.rmse, errors.mae};
}

Epoch epoch_of(FastTuckerEpoch const& epoch) {
  return {epoch.epoch,           errors_of(epoch.train), errors_of(epoch.validation),
          errors_of(epoch.test), epoch.seconds,          epoch.objective};
}

template <class Scalar, class Index>
FastTuckerResult complete(CooTensor<Scalar, Index, Space> const& train, TensorPtr const& validation,
                          TensorPtr const& test, FastTuckerOptions const& options, FormatOptions const& asked,
                          OnEpoch const& on_epoch) {
  FastTuckerData<Scalar, Index, Space> data;
  data.train            = train;
  auto const same_types = [](TensorPtr const& tensor) {
    auto const* const of = dynamic_cast<TensorOf<Scalar, Index> const*>(tensor.get());
    POLYAD_EXPECTS(of != nullptr,
                   "the entries of all sets have values of one type, and coordinates of one type");
    return of->coo;
  };
  if (validation) data.validation = same_types(validation);
  if (test) data.test = same_types(test);
  FastTuckerCallback callback;
  if (on_epoch) callback = [&](FastTuckerEpoch const& epoch) { return on_epoch(epoch_of(epoch)); };
  AnyFormatOptions format;
  format.format         = asked.format;
  format.deterministic  = asked.deterministic;
  format.hooks.progress = at_each_step(asked.between_steps);
  FastTuckerSearchCallback on_search;
  if (asked.continues_search) on_search = [&](FastTuckerSearch const&) { return asked.continues_search(); };
  auto const result = polyad::fast_tucker(Space(), data, options, callback, format, on_search);
  FastTuckerResult out;
  out.model = arrays_of(result.model);
  for (auto const& epoch : result.history) out.history.push_back(epoch_of(epoch));
  out.reason     = result.reason;
  out.kept_epoch = result.kept_epoch;
  out.fit        = row_fit(result.choice ? result.choice->options : options, train.order());
  if (result.choice) {
    out.chose          = true;
    out.learns         = result.choice->learns;
    out.chosen_biases  = errors_of(result.choice->biases);
    out.chosen_model   = errors_of(result.choice->model);
    out.candidates     = result.choice->candidates;
    auto const& chosen = result.choice->options;
    out.chosen_rank    = chosen.rank;
    out.chosen_columns.assign(chosen.columns.begin(), chosen.columns.end());
    for (auto const target : chosen.targets)
      out.chosen_targets.emplace_back(target == RowTarget::zero  ? "zero"
                                      : target == RowTarget::one ? "one"
                                                                 : "left_out");
    if (draws_rows(chosen)) {
      auto const shrinkage = chosen.shrinkage.value_or(Shrinkage{});
      out.chosen_shrinkage = {shrinkage.observations, shrinkage.share, shrinkage.to_one};
    } else if (chosen.ridge) {
      out.chosen_ridge = {*chosen.ridge};
    }
    out.chosen_ridge_per_entry = chosen.ridge_per_entry;
    out.chosen_bias_damping    = chosen.bias.damping;
    out.chosen_epochs          = chosen.max_epochs;
    out.seconds                = result.choice->seconds;
    out.search_ended           = to_string(result.choice->reason);
    for (auto const& rows : result.choice->classes)
      out.rows.push_back({rows.mode, rows.least, errors_of(rows.biases), errors_of(rows.model),
                          rows.learns && result.choice->learns});
    if (out.model.time_mode >= 0)
      for (auto const& drift : result.choice->options.bias.drift) {
        out.chosen_bins.push_back(drift.bins);
        out.chosen_damping.push_back(drift.damping);
      }
  }
  return out;
}

}  // namespace

CpResult cp_als(TensorPtr const& tensor, CpAlsOptions const& options, FormatOptions format,
                Start const& start, OnIteration const& callback) {
  auto wanted = options;
  if (wanted.rank == 0 && !start.factors.empty() && start.factors[0].shape.size() == 2)
    wanted.rank = start.factors[0].shape[1];
  return visit<TensorOf>(*tensor, [&](auto const& of) {
    using Scalar      = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    using Stored      = decltype(compact(Space(), of.coo));
    auto const stored = zeros_are_allowed(wanted) ? compact(Space(), of.coo) : Stored{of.coo, {}};
    auto of_rows      = wanted;
    of_rows.rows      = stored.rows;
    auto const X      = any_format(Space(), stored.tensor, with(format_options(wanted), format));
    auto begin        = start_of<Scalar>(start, X.extents(), of_rows.rows);
    if (start.singular_vectors) {
      NvecsOptions search;
      search.seed = wanted.seed;
      search.rows = stored.rows;
      begin       = nvecs(Space(), stored.tensor, wanted.rank > 0 ? wanted.rank : X.rank(), search);
      move_within_bounds(Space(), *begin, of_rows);
    }
    return run(X, of_rows, of.stays, std::move(begin), callback);
  });
}

CpResult cp_als(FormatPtr const& format, CpAlsOptions const& options, Start const& start,
                OnIteration const& callback) {
  return visit<FormatOf>(*format, [&](auto const& of) {
    using Scalar = typename std::remove_cvref_t<decltype(of.any)>::scalar_type;
    return run(of.any, options, of.stays, start_of<Scalar>(start, of.any.extents(), options.rows), callback);
  });
}

TuckerResult tucker(TensorPtr const& tensor, TuckerOptions const& wanted, Start const& start,
                    OnIteration const& on_iteration, std::function<void()> const& between_steps) {
  TuckerCallback callback;
  if (on_iteration)
    callback = [&](TuckerIteration const& it) {
      return on_iteration({it.iteration, it.fit, it.delta, it.seconds});
    };
  return visit<TensorOf>(*tensor, [&](auto const& of) {
    using Scalar      = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    auto const stored = compact(Space(), of.coo);
    auto const& coo   = stored.tensor;
    auto options      = wanted;
    options.rows      = stored.rows;
    TuckerStart<Scalar, Space> begin;
    if (!start.factors.empty()) {
      POLYAD_EXPECTS(start.factors.size() == options.ranks.size() &&
                         start.factors.size() == static_cast<std::size_t>(coo.order()),
                     start.factors.size(), " matrices to start from, but ", options.ranks.size(),
                     " ranks and a tensor of order ", coo.order());
      Extents const whole = whole_extents(coo.extents(), options.rows);
      static_cast<void>(compact_extents(whole, start.rows));  // whose order and sizes it checks
      for (int n = 0; n < coo.order(); ++n)
        begin.push_back(
            copy_of<Scalar>(matrix_view<Scalar>(start.factors[n]), start.rows, whole, options.rows, n));
    } else {
      begin = start.singular_vectors ? hosvd_tucker_start(Space(), coo, options)
                                     : random_tucker_start<Scalar>(Space(), coo.extents(), options);
    }
    auto format           = format_options(options);
    format.hooks.progress = at_each_step(between_steps);
    auto const X          = any_format(Space(), coo, format);
    auto const result     = polyad::tucker(Space(), X, options, std::move(begin), callback);
    TuckerResult out{to_array(result.model.core, of.stays),
                     {},
                     {},
                     result.reason,
                     result.fit,
                     result.fit_error,
                     result.model.rows};
    for (auto const& factor : result.model.factors) out.factors.push_back(to_array(factor, of.stays));
    for (auto const& it : result.history) out.history.push_back({it.iteration, it.fit, it.delta, it.seconds});
    // G unfolded by the last mode, R_{N-2} fastest: a row is an array of the other modes.
    auto& core             = out.core;
    std::int64_t const row = core.strides[0];
    core.shape.resize(1);
    for (std::size_t n = 0; n + 1 < out.factors.size(); ++n) core.shape.push_back(out.factors[n].shape[1]);
    core.strides.assign(core.shape.size(), 1);
    for (std::size_t k = core.shape.size() - 1; k-- > 1;)
      core.strides[k] = core.strides[k + 1] * static_cast<std::int64_t>(core.shape[k + 1]);
    core.strides[0] = row;
    return out;
  });
}

FastTuckerResult fast_tucker(TensorPtr const& train, TensorPtr const& validation, TensorPtr const& test,
                             FastTuckerOptions const& options, FormatOptions const& format,
                             OnEpoch const& callback) {
  return visit<TensorOf>(
      *train, [&](auto const& of) { return complete(of.coo, validation, test, options, format, callback); });
}

ImplicitSearch choose_implicit(TensorPtr const& kept, TensorPtr const& held, FastTuckerOptions const& options,
                               bool keeps_alpha, EvaluationOptions const& ranking,
                               OnImplicitTrial const& callback, std::function<bool()> const& continues) {
  auto const trial = [](ImplicitCandidate const& of) {
    return ImplicitTrial{of.alpha, of.ridge, of.rank, of.ndcg.value, of.ndcg.error, of.ndcg.users};
  };
  std::size_t reported                      = 0;  // candidates
  ImplicitSearchCallback const on_candidate = [&](std::vector<ImplicitCandidate> const& all) {
    if (all.size() == reported) return continues();  // after an epoch
    reported = all.size();
    return callback(trial(all.back()));
  };
  auto const choice = visit<TensorOf>(*kept, [&](auto const& of) {
    auto const* const other = dynamic_cast<std::remove_cvref_t<decltype(of)> const*>(held.get());
    POLYAD_EXPECTS(other != nullptr,
                   "entries to learn from and entries to evaluate on have values of one type, and "
                   "coordinates of one type");
    return polyad::choose_implicit(Space(), of.coo, other->coo, options, keeps_alpha, ranking, on_candidate);
  });
  ImplicitSearch out{
      {}, choice.best, choice.seconds, choice.reason, choice.popular.value, choice.popular.error};
  for (auto const& candidate : choice.candidates) out.candidates.push_back(trial(candidate));
  return out;
}

}  // namespace polyad::python
