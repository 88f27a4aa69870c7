// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "core/host_side.hpp"
#include "core/run_limits.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/epochs.hpp"
#include "fast_tucker/kept_model.hpp"
#include "fast_tucker/resume.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/quantity_text.hpp"
#include "tensor/coordinates_inside.hpp"
#include "tensor/copied.hpp"

namespace polyad {

using namespace detail;

namespace {

/// The training set, and the sets that judge the model.
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
  expect_coordinates_inside(host_instance(space), data.train_on_host);
  for (auto const* set : {&data.train, &data.validation, &data.test}) expect_coordinates_inside(space, *set);
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

/// The errors of each set. \param owners  of several ranks, whose errors are added up, perhaps null
template <class Scalar, class Index, class Space>
FastTuckerErrors errors_of_sets(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                FactorMatrices<Scalar, Space> const& C,
                                Sets<Scalar, Index, Space> const& sets, ErrorSums<Space> const& sums,
                                NonzeroOwners<Scalar, Index, Space> const* owners) {
  FastTuckerErrors found{detail::errors(space, model, C, sets.train, sums),
                         detail::errors(space, model, C, Entries(sets.validation), sums),
                         detail::errors(space, model, C, Entries(sets.test), sums)};
  if (!owners) return found;
  std::vector<double> numbers;
  for (auto const* set : {&found.train, &found.validation, &found.test}) {
    auto const entries = static_cast<double>(set->entries);
    numbers.insert(numbers.end(), {entries, entries * set->rmse * set->rmse, entries * set->mae});
  }
  owners->sum_on_host(numbers);
  auto const* of_set = numbers.data();
  for (auto* set : {&found.train, &found.validation, &found.test}) {
    double const entries = std::max(of_set[0], 1.0);
    *set = {static_cast<count_t>(of_set[0]), std::sqrt(of_set[1] / entries), of_set[2] / entries};
    of_set += 3;
  }
  return found;
}

/// The errors of the model's mean and biases alone.
template <class Scalar, class Index, class Space>
FastTuckerErrors errors_of_biases(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                  Sets<Scalar, Index, Space> const& sets, ErrorSums<Space> const& sums,
                                  NonzeroOwners<Scalar, Index, Space> const* owners = nullptr) {
  std::vector<count_t> const one_column(static_cast<std::size_t>(model.order()), 1);
  FastTuckerModel<Scalar, Space> alone(space, model.extents(), one_column, 1, false);
  alone.share_biases(model);
  alone.range  = model.range;
  auto const C = make_intermediates(space, alone);  // of zeros
  return errors_of_sets(space, alone, C, sets, sums, owners);
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

/// The receiver of a run's states, and the part of a state that does not change between epochs.
struct Saving {
  FastTuckerCheckpoints const* to = nullptr;
  FastTuckerState facts           = {};
  /// Multiplies errors of scaled values (fit_scaled) to errors of the original values.
  double unscaled = 1;

  [[nodiscard]] FastTuckerState const* resume() const { return to == nullptr ? nullptr : to->resume; }
  [[nodiscard]] bool saves() const { return to != nullptr && to->save; }
};

/// Refuses a state of other entries or of another format.
template <class Scalar, class Index, class Space>
void expect_same_run(FastTuckerState const& state, DividedTensor<Scalar, Index, Space> const& X,
                     Sets<Scalar, Index, Space> const& sets, int patience) {
  auto const expect = [&](char const* what, auto const& there, auto const& here) {
    std::ostringstream text;
    text << "is a checkpoint of " << what << ' ' << there << ", not " << here;
    if (there != here) refuse_state(state, text.str());
  };
  expect("precision", state.precision, std::string(sizeof(Scalar) == 4 ? "f32" : "f64"));
  expect("the format", state.format, X.chosen());
  expect("a validation set of size", state.validation_nnz, sets.validation.nnz());
  // The norm of the same values depends on how threads split its sum.
  bool const same =
      state.nnz == X.nnz() && std::abs(state.norm_squared - X.norm_squared()) <= 1e-6 * X.norm_squared();
  if (!same) refuse_state(state, "is a checkpoint of other entries");
  bool const tells = patience > 0 && sets.validation.nnz() > 0;
  if (state.kept.size() != (tells ? 2 * state.extents.size() : 0)) refuse_state(state, "has no best epoch");
}

/// The facts of a run that begins.
template <class Scalar, class Index, class Space>
void put_facts(DividedTensor<Scalar, Index, Space> const& X, Sets<Scalar, Index, Space> const& sets,
               FastTuckerState& state) {
  state.precision = sizeof(Scalar) == 4 ? "f32" : "f64";
  state.format    = X.chosen();
  state.extents.clear();
  for (int n = 0; n < X.extents().order(); ++n) state.extents.push_back(X.extents()[n]);
  state.nnz            = X.nnz();
  state.validation_nnz = sets.validation.nnz();
  state.norm_squared   = X.norm_squared();
}

/// \throws UsageError for negative epochs, patience or sweeps, and for a time limit that is negative or not a
///         number
void expect_limits(FastTuckerOptions const& options) {
  expect_run_limits(options.max_epochs, 0, options.time_limit_s);
  POLYAD_EXPECTS(options.patience >= 0, "a patience of ", options.patience, " epochs is negative");
  POLYAD_EXPECTS(options.bias.sweeps >= 0, options.bias.sweeps, " sweeps of the biases are negative");
}

/// A run of fast_tucker: its epochs, the best model so far, and checkpoints.
template <class Scalar, class Index, class Space>
class FastTuckerRun {
public:
  using Tensor = DividedTensor<Scalar, Index, Space>;

  /// \param model  the start, which becomes the result; on several ranks with the rows that this rank owns
  FastTuckerRun(Space const& space, Tensor const& X, Sets<Scalar, Index, Space> const& sets,
                FastTuckerOptions const& options, FastTuckerModel<Scalar, Space> const& model, Saving saving)
      : m_space(space),
        m_tensor(X),
        m_sets(sets),
        m_options(options),
        m_owners(X.owners().get()),
        m_saving(std::move(saving)),
        m_model(in_range(model, options.range)),
        m_sums(sums_for(space, sets)),
        m_result(result_of_biases()),
        m_epochs(space, X, m_model, options),
        m_kept(space, m_model) {
    m_kept.keep(space, m_model);
    m_validates = options.patience > 0 && m_result.biases.validation.entries > 0;
    if (m_validates) {  // epoch 0 is mean and biases alone, kept if no epoch is better
      m_best = m_result.biases.validation.rmse;
      zero_matrix(space, m_kept.A[0]);
    }
    if (auto const* const state = m_saving.resume()) restore(*state);
    put_facts(X, sets, m_saving.facts);
  }

  [[nodiscard]] FastTuckerResult<Scalar, Space> run(FastTuckerCallback const& callback) {
    if (m_saving.saves() && m_done == 0 && m_saving.facts.has_choice) save();
    if (m_done > 0 && patience_is_over(m_done)) {
      m_result.reason = StopReason::early_stop;
    } else {
      RunLimits const limits(m_options.max_epochs, m_options.time_limit_s, any_rank_of(m_owners));
      for (int epoch = m_done + 1; epoch <= m_options.max_epochs; ++epoch)
        if (!run_epoch(epoch, callback, limits)) break;
    }
    if (m_validates) m_kept.restore(m_space, m_model);
    m_space.fence("polyad::fast_tucker");
    m_result.model = m_model;
    return std::move(m_result);
  }

private:
  static FastTuckerModel<Scalar, Space> in_range(FastTuckerModel<Scalar, Space> model,
                                                 PredictionRange const& range) {
    model.range = {std::max(model.range.lowest, range.lowest), std::min(model.range.highest, range.highest)};
    return model;
  }
  /// Made before the epochs allocate, since the errors need memory for a while.
  [[nodiscard]] FastTuckerResult<Scalar, Space> result_of_biases() const {
    FastTuckerResult<Scalar, Space> result;
    result.format = facts_of(m_tensor);
    result.biases = errors_of_biases(m_space, m_model, m_sets, m_sums, m_owners);
    return result;
  }
  void restore(FastTuckerState const& state) {
    expect_same_run(state, m_tensor, m_sets, m_options.patience);
    m_epochs.restore(state);
    m_kept.keep(m_space, m_model);
    if (m_validates) {
      m_kept.from_host(m_space, state.kept);
      m_best = state.best;
    }
    m_done              = static_cast<int>(state.epoch);
    m_result.kept_epoch = static_cast<int>(state.kept_epoch);
    m_result.errors = times(FastTuckerErrors{errors_of(state.kept_errors[0]), errors_of(state.kept_errors[1]),
                                             errors_of(state.kept_errors[2])},
                            1 / m_saving.unscaled);
  }
  void save() {
    FastTuckerState& state = m_saving.facts;
    m_epochs.save_numbers(state);
    state.kept_epoch  = static_cast<std::uint64_t>(m_result.kept_epoch);
    state.best        = m_validates ? m_best : 0;
    auto const errors = times(m_result.errors, m_saving.unscaled);
    state.kept_errors = {state_errors(errors.train), state_errors(errors.validation),
                         state_errors(errors.test)};
    FastTuckerSnapshot snapshot{state};
    m_epochs.put_matrices(snapshot);
    if (m_validates) snapshot.kept = m_kept.in_blocks(m_space, m_model.order());
    m_saving.to->save(snapshot);
  }
  [[nodiscard]] bool patience_is_over(int epoch) const {
    return m_validates && epoch - m_result.kept_epoch >= m_options.patience;
  }

  /// Returns whether the run continues.
  [[nodiscard]] bool run_epoch(int epoch, FastTuckerCallback const& callback, RunLimits const& limits) {
    Kokkos::Timer const clock;
    m_epochs.run();
    m_space.fence("polyad::fast_tucker");
    double const seconds = clock.seconds();
    auto const found = errors_of_sets(m_space, m_model, m_epochs.intermediates(), m_sets, m_sums, m_owners);
    FastTuckerEpoch const report{epoch, found.train, found.validation, found.test, seconds};
    if (has_diverged(report.train.rmse)) {
      m_result.reason = StopReason::diverged;
      m_kept.restore(m_space, m_model);
      return false;
    }
    m_result.history.push_back(report);
    if (!m_validates || report.validation.rmse < m_best) keep(report);
    std::optional<StopReason> no_better;
    if (patience_is_over(epoch)) no_better = StopReason::early_stop;
    auto const reason = limits.after(epoch, callback && !callback(report), no_better);
    if (reason) m_result.reason = *reason;
    if (m_saving.saves() && (reason || epoch % m_saving.to->every == 0)) save();
    return !reason;
  }
  /// Also if the error is not a number.
  [[nodiscard]] bool has_diverged(double rmse) const {
    double const size = std::sqrt(m_tensor.norm_squared() / static_cast<double>(m_tensor.nnz()));
    return !(rmse <= 10 * size || rmse == 0);
  }
  void keep(FastTuckerEpoch const& epoch) {
    m_best              = epoch.validation.rmse;
    m_result.kept_epoch = epoch.epoch;
    m_result.errors     = {epoch.train, epoch.validation, epoch.test};
    m_kept.keep(m_space, m_model);
  }

  Space m_space;
  Tensor const& m_tensor;
  Sets<Scalar, Index, Space> const& m_sets;
  FastTuckerOptions const& m_options;
  NonzeroOwners<Scalar, Index, Space> const* m_owners;  // null on one rank
  Saving m_saving;
  FastTuckerModel<Scalar, Space> m_model;
  ErrorSums<Space> m_sums;
  FastTuckerResult<Scalar, Space> m_result;
  FastTuckerEpochs<Scalar, Index, Space> m_epochs;
  KeptModel<Scalar, Space> m_kept;
  bool m_validates = false;  // the validation set decides which epoch is the best
  double m_best    = std::numeric_limits<double>::infinity();
  int m_done       = 0;  // epochs before this run
};

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

/// A run on values times value_scale, in a format that is built of these.
/// \param fills  whether to fill the start (fill_start)
/// \param owners  of several ranks, whose sets are parts and whose start has the owned rows, perhaps null
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_scaled(
    Space const& space, Sets<Scalar, Index, Space> const& sets, FastTuckerOptions const& options,
    FastTuckerModel<Scalar, Space> const& start, bool fills, AnyFormatOptions const& format,
    FastTuckerCallback const& callback, Saving saving = {},
    std::shared_ptr<NonzeroOwners<Scalar, Index, Space>> const& owners = {}) {
  auto const fit_values = [&](Sets<Scalar, Index, Space> const& of, FastTuckerOptions const& with,
                              FastTuckerModel<Scalar, Space> const& model, FastTuckerCallback const& tell) {
    auto const X = interactions(space, of.train, model, asked_of(format, with), owners);
    POLYAD_EXPECTS(X.nnz() > 0, "there are no entries to learn from");
    std::vector<count_t> first_rows;
    for (int n = 0; owners && n < model.order(); ++n) first_rows.push_back(owners->first_row(n));
    if (fills)
      detail::fill_start_of_rows(space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())),
                                 with.seed, with.targets, first_rows);
    FastTuckerRun<Scalar, Index, Space> run(space, X, of, with, model, std::move(saving));  // called once
    auto fitted = run.run(tell);
    if (of.train.on_host() && format.format == "auto")
      fitted.format.because = "what a run holds of the training set does not fit the memory beside it";
    return fitted;
  };
  double const factor = detail::value_scale(space, sets.train, options, owners.get());
  if (factor == 1) return fit_values(sets, options, start, callback);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  saving.unscaled = 1 / factor;
  auto model      = with_own_biases(space, start);
  scale_predictions(space, factor, model, options.targets);
  auto result   = fit_values(scaled_sets(space, sets, factor), inner, model,
                             FastTuckerCallback([&](FastTuckerEpoch const& epoch) {
                             return !callback || callback(times(epoch, 1 / factor));
                             }));
  result.biases = times(result.biases, 1 / factor);
  result.errors = times(result.errors, 1 / factor);
  scale_predictions(space, 1 / factor, result.model, options.targets);
  result.model.share_biases(start);
  for (auto& epoch : result.history) epoch = times(epoch, 1 / factor);
  return result;
}

/// Resumes a run from its state.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> go_on(Space const& space, Sets<Scalar, Index, Space> const& sets,
                                      FastTuckerOptions const& options, FastTuckerCallback const& callback,
                                      AnyFormatOptions const& format,
                                      FastTuckerCheckpoints const& checkpoints) {
  FastTuckerState const& state = *checkpoints.resume;
  expect_asked(state, asked_text(options));
  bool same = state.extents.size() == static_cast<std::size_t>(sets.train.order());
  for (int n = 0; same && n < sets.train.order(); ++n)
    same = of_mode(state.extents, n) == sets.train.extents()[n];
  if (!same) refuse_state(state, "is a checkpoint of other entries");
  if (state.columns.size() != state.extents.size() || state.rank == 0)
    refuse_state(state, "has a model of another number of modes");
  auto chosen = with_shape(with_chosen(options, state), sets.train.order());
  if (state.has_choice) chosen.max_epochs = std::min(chosen.max_epochs, last_epochs);
  auto const model = biased_model<Scalar>(space, sets.train.extents(), state);
  auto facts       = without_matrices(state);
  auto result =
      fit_scaled(space, sets, chosen, model, false, format, callback, {&checkpoints, std::move(facts)});
  if (state.has_choice) {
    auto& choice      = result.choice.emplace();
    choice.options    = chosen;
    choice.biases     = errors_of(state.choice_biases);
    choice.model      = errors_of(state.choice_model);
    choice.candidates = static_cast<int>(state.candidates);
    choice.seconds    = state.choice_s;
  }
  return result;
}

/// The constant part of the states of a run that begins with this model.
template <class Scalar, class Space>
Saving saving_of(Space const& space, FastTuckerCheckpoints const& checkpoints, FastTuckerOptions const& asked,
                 FastTuckerOptions const& chosen, FastTuckerModel<Scalar, Space> const& model) {
  Saving saving;
  saving.to = &checkpoints;
  if (!saving.saves()) return saving;
  saving.facts.asked = asked_text(asked);
  put_chosen(chosen, saving.facts);
  put_biases(space, model, saving.facts);
  return saving;
}

/// A model whose A^(n) have the rows that this rank owns, all zero.
template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> model_of_owned_rows(Space const& space, Extents const& extents,
                                                   FastTuckerOptions const& options,
                                                   NonzeroOwners<Scalar, Index, Space> const& owners) {
  std::vector<count_t> const one_column(static_cast<std::size_t>(extents.order()), 1);
  FastTuckerModel<Scalar, Space> model(space, extents, one_column, options.rank, options.biases);
  for (int n = 0; n < extents.order(); ++n) {
    count_t const J = of_mode(options.columns, n);
    checked_rank(J);
    model.A(n) = make_factor_matrix<Scalar>(space, "polyad::owned_factor", owners.rows(n), J);
    model.B(n) = make_factor_matrix<Scalar>(space, "polyad::core", J, options.rank);
  }
  return model;
}

/// Mean and biases alone, fitted to the training set.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> only_biases(Space const& space, Sets<Scalar, Index, Space> const& sets,
                                            FastTuckerOptions options,
                                            NonzeroOwners<Scalar, Index, Space> const* owners = nullptr) {
  FastTuckerResult<Scalar, Space> result;
  options.rank = 1;
  options.columns.assign(static_cast<std::size_t>(sets.train.order()), 1);
  auto const& extents = sets.train.extents();
  result.model = owners ? model_of_owned_rows<Scalar>(space, extents, options, *owners)
                        : FastTuckerModel<Scalar, Space>(space, extents, options.columns, 1, options.biases);
  result.model.range = {options.range.lowest, options.range.highest};
  if (options.biases) detail::fit_biases(space, sets.train, options.bias, result.model, owners);
  result.reason = StopReason::converged;
  result.biases = errors_of_biases(space, result.model, sets, sums_for(space, sets), owners);
  return result;
}

/// The root's choice, for all ranks, without its start.
template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choice_of_root(FastTuckerChoice<Scalar, Space> const& choice,
                                               FastTuckerOptions const& options,
                                               NonzeroOwners<Scalar, Index, Space> const& owners) {
  FastTuckerState state;
  put_chosen(choice.options, state);
  auto const share = [&](auto& numbers) {
    using Number      = typename std::remove_cvref_t<decltype(numbers)>::value_type;
    auto const agreed = owners.from_root(std::vector<double>(numbers.begin(), numbers.end()));
    numbers.clear();
    for (double const number : agreed) numbers.push_back(static_cast<Number>(number));
  };
  share(state.columns);
  share(state.targets);
  share(state.shrinkage);
  share(state.ridge);
  share(state.drift_bins);
  share(state.drift_damping);
  auto const share_errors = [&](PredictionErrors const& errors) {
    auto const agreed = owners.from_root({static_cast<double>(errors.entries), errors.rmse, errors.mae});
    return PredictionErrors{static_cast<count_t>(agreed[0]), agreed[1], agreed[2]};
  };
  auto const facts =
      owners.from_root({static_cast<double>(choice.options.rank), choice.options.ridge_per_entry ? 1.0 : 0.0,
                        static_cast<double>(choice.options.max_epochs), choice.learns ? 1.0 : 0.0,
                        static_cast<double>(choice.candidates), choice.seconds});
  state.rank            = static_cast<std::uint64_t>(facts[0]);
  state.ridge_per_entry = facts[1] != 0;
  FastTuckerChoice<Scalar, Space> agreed;
  agreed.options            = with_chosen(options, state);
  agreed.options.max_epochs = static_cast<int>(facts[2]);
  agreed.learns             = facts[3] != 0;
  agreed.candidates         = static_cast<int>(facts[4]);
  agreed.seconds            = facts[5];
  agreed.biases             = share_errors(choice.biases);
  agreed.model              = share_errors(choice.model);
  return agreed;
}

/// The rows that this rank owns of the root's model; all ranks have its cores.
template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> owned_rows_of_root(Space const& space, Extents const& extents,
                                                  FastTuckerModel<Scalar, Space> const& whole,
                                                  FastTuckerOptions const& options,
                                                  NonzeroOwners<Scalar, Index, Space> const& owners) {
  auto model       = model_of_owned_rows<Scalar>(space, extents, options, owners);
  auto const share = [&](FactorMatrix<Scalar, Space> const& matrix) {
    return owners.from_root(owners.is_root() ? to_host<Scalar>(space, matrix) : std::vector<double>());
  };
  for (int n = 0; n < extents.order(); ++n) {
    auto const rows = share(owners.is_root() ? whole.A(n) : model.A(n));
    auto const own  = rows.begin() + static_cast<std::ptrdiff_t>(owners.first_row(n) * model.columns(n));
    from_host<Scalar>(space, {own, own + static_cast<std::ptrdiff_t>(model.A(n).size())}, model.A(n));
    from_host<Scalar>(space, share(owners.is_root() ? whole.B(n) : model.B(n)), model.B(n));
  }
  return model;
}

}  // namespace

bool draws_rows(FastTuckerOptions const& options) {
  return facts_of(options.optimizer).draws_rows && !options.ridge && !options.ridge_per_entry;
}

FastTuckerOptions with_shape(FastTuckerOptions options, int order) {
  auto& columns = options.columns;
  if (options.rank == 0)
    options.rank = columns.empty() ? 8 : *std::max_element(columns.begin(), columns.end());
  if (columns.empty()) columns = {options.rank};
  if (columns.size() == 1) columns.assign(static_cast<std::size_t>(order), columns[0]);
  // Before anything is filled: a start of that size would take hours before a kernel refuses it.
  checked_rank(options.rank);
  for (count_t const J : columns)
    if (J > 0) checked_rank(J);  // the model refuses 0, naming the mode
  return options;
}

AnyFormatOptions format_options(FastTuckerOptions const& options) {
  AnyFormatOptions format;
  format.rank       = with_shape(options, 1).rank;
  format.iterations = options.max_epochs;
  format.duplicates = Duplicates::keep;
  format.needs      = facts_of(options.optimizer).needs;
  return format;
}

template <class Scalar, class Index, class Space>
bool stays_on_host(Space const& space, Extents const& extents, count_t entries,
                   FastTuckerOptions const& options, AnyFormatOptions const& format) {
  if (format.format != "auto") return format_offers(format.format, Capability::streaming);
  bool const streams = facts_of(options.optimizer).needs_of_format(Capability::residual_sweep);
  if (!streams || !format.may_stream) return false;
  // A host gains nothing by streaming, unless it simulates a device.
  if (std::is_same_v<typename HostOf<Space>::memory_space, typename Space::memory_space> &&
      !left_of_device_memory_limit() && !format.memory_bytes)
    return false;
  // The memory holds the training set and a format of it, whose build needs twice the set's size. During a
  // search it also holds the kept part of the set.
  auto const order     = static_cast<count_t>(extents.order());
  count_t const copies = leaves_choice(options) ? 4 : 3;
  count_t const bytes =
      checked_product("the training set", entries, copies * (sizeof(Scalar) + order * sizeof(Index)));
  return bytes >
         std::min(available_memory(space), format.memory_bytes.value_or(std::numeric_limits<count_t>::max()));
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> detail::fit_owned_rows(
    Space const& space, FastTuckerData<Scalar, Index, Space> const& part, FastTuckerOptions const& options,
    FastTuckerCallback const& callback, AnyFormatOptions const& format,
    std::shared_ptr<NonzeroOwners<Scalar, Index, Space>> const& owners) {
  expect_limits(options);
  Extents const extents = part.train.extents();
  auto const sets       = sets_of(space, part);
  if (leaves_choice(options)) {
    POLYAD_EXPECTS(owners->sum_on_host(sets.train.nnz()) > 0, "there are no entries to learn from");
    auto const found = detail::choose(space, sets.train, options, format, most_searched, owners.get());
    auto choice      = choice_of_root(found, options, *owners);
    FastTuckerResult<Scalar, Space> result;
    if (choice.learns) {
      auto model = owned_rows_of_root(space, extents, found.start, choice.options, *owners);
      if (options.biases) detail::fit_biases(space, sets.train, choice.options.bias, model, owners.get());
      result = fit_scaled(space, sets, choice.options, model, false, format, callback, {}, owners);
    } else {
      result = only_biases(space, sets, choice.options, owners.get());
    }
    result.choice = std::move(choice);
    return result;
  }
  auto const shaped = with_shape(options, extents.order());
  POLYAD_EXPECTS(shaped.columns.size() == static_cast<std::size_t>(extents.order()), shaped.columns.size(),
                 " column counts J for a model of ", extents.order(), " modes");
  auto model = model_of_owned_rows<Scalar>(space, extents, shaped, *owners);
  if (options.biases) detail::fit_biases(space, sets.train, options.bias, model, owners.get());
  return fit_scaled(space, sets, shaped, model, true, format, callback, {}, owners);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space> const& start,
                                            FastTuckerCallback const& callback) {
  return fast_tucker(space, data, options, copied(space, start), callback);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space>&& start,
                                            FastTuckerCallback const& callback) {
  expect_limits(options);
  auto const sets = sets_of(space, data);
  if (data.format) {
    DividedTensor<Scalar, Index, Space> const X(*data.format);
    return FastTuckerRun<Scalar, Index, Space>(space, X, sets, options, start, {}).run(callback);
  }
  auto with = options;
  with.rank = start.rank();
  return fit_scaled(space, sets, with, start, false, {}, callback);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerCallback const& callback,
                                            AnyFormatOptions const& format,
                                            FastTuckerCheckpoints const& checkpoints) {
  POLYAD_EXPECTS(!checkpoints.save || checkpoints.every >= 1, "a checkpoint every ", checkpoints.every,
                 " epochs");
  expect_limits(options);
  POLYAD_EXPECTS(!data.format, "a format that is chosen already wants the start whose biases it is without");
  auto const sets = sets_of(space, data);
  if (checkpoints.resume != nullptr) return go_on(space, sets, options, callback, format, checkpoints);
  if (!leaves_choice(options)) {
    auto const shaped = with_shape(options, sets.train.order());
    FastTuckerModel<Scalar, Space> model(space, sets.train.extents(), shaped.columns, shaped.rank,
                                         options.biases);
    if (options.biases) detail::fit_biases(space, sets.train, options.bias, model);
    return fit_scaled(space, sets, shaped, model, true, format, callback,
                      saving_of(space, checkpoints, options, shaped, model));
  }
  POLYAD_EXPECTS(sets.train.nnz() > 0, "there are no entries to learn from");
  auto choice = detail::choose(space, sets.train, options, format);
  if (format.hooks.progress) format.hooks.progress("choosing the shrinkage");
  FastTuckerResult<Scalar, Space> result;
  if (choice.learns) {
    auto model = choice.start;
    if (options.biases) detail::fit_biases(space, sets.train, choice.options.bias, model);
    auto saving                = saving_of(space, checkpoints, options, choice.options, model);
    saving.facts.has_choice    = true;
    saving.facts.candidates    = static_cast<std::uint64_t>(choice.candidates);
    saving.facts.choice_s      = choice.seconds;
    saving.facts.choice_biases = state_errors(choice.biases);
    saving.facts.choice_model  = state_errors(choice.model);
    result = fit_scaled(space, sets, choice.options, model, false, format, callback, std::move(saving));
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
      FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace>&&, FastTuckerCallback const&);                 \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                             \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,        \
      FastTuckerCallback const&, AnyFormatOptions const&, FastTuckerCheckpoints const&);                    \
  template FastTuckerResult<Scalar, Kokkos::DefaultExecutionSpace> detail::fit_owned_rows(                  \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,        \
      FastTuckerCallback const&, AnyFormatOptions const&,                                                   \
      std::shared_ptr<NonzeroOwners<Scalar, Index, Kokkos::DefaultExecutionSpace>> const&);                 \
  template bool stays_on_host<Scalar, Index>(Kokkos::DefaultExecutionSpace const&, Extents const&, count_t, \
                                             FastTuckerOptions const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER);

}  // namespace polyad
