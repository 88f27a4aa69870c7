// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host_side.hpp"
#include "core/run_limits.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/fast_tucker_run.hpp"
#include "fast_tucker/implicit/implicit.hpp"
#include "fast_tucker/resume.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "run/run_loop.hpp"
#include "tensor/coordinates_inside.hpp"
#include "tensor/copied.hpp"

namespace polyad {

using namespace detail;

namespace {

template <class Scalar, class Index, class Space>
using Rows = std::shared_ptr<NonzeroDistribution<Scalar, Index, Space>>;

template <class Scalar, class Index, class Space>
Rows<Scalar, Index, Space> rows_of(Space const& space, FastTuckerData<Scalar, Index, Space> const& data) {
  auto const& extents = data.train_on_host.order() > 0 ? data.train_on_host.extents() : data.train.extents();
  return data.rows ? data.rows : std::make_shared<NonzeroDistribution<Scalar, Index, Space>>(space, extents);
}

/// \param sums  whether repeated entries of the training set are summed
template <class Scalar, class Index, class Space>
DataSplits<Scalar, Index, Space> sets_of(Space const& space, FastTuckerData<Scalar, Index, Space> const& data,
                                         bool sums) {
  bool const on_host = data.train_on_host.order() > 0;
  POLYAD_EXPECTS(!on_host || data.train.order() == 0,
                 "the training set is either on the device or in host memory");
  expect_coordinates_inside(host_instance(space), data.train_on_host);
  for (auto const* set : {&data.train, &data.validation, &data.test}) expect_coordinates_inside(space, *set);
  if (on_host) {
    auto const host = host_instance(space);
    auto const& all = data.train_on_host;
    return {entries_on_host<Scalar, Index>(space, sums ? sum_duplicates(host, all).tensor : all),
            data.validation, data.test};
  }
  auto const& all = data.train;
  return {TrainingSet<Scalar, Index, Space>(sums ? sum_duplicates(space, all).tensor : all), data.validation,
          data.test};
}

template <class Scalar, class Index, class Space>
DataSplits<Scalar, Index, Space> scaled_sets(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                             double factor) {
  FastTuckerData<Scalar, Index, Space> data;
  data.validation  = sets.validation;
  data.test        = sets.test;
  auto const other = scaled(space, data, factor);
  return {detail::scaled(space, sets.train, factor), other.validation, other.test};
}

/// \throws UsageError for numbers out of the range of their row, and for options that exclude each other
RunOptions checked_limits(FastTuckerOptions const& options) {
  expect_in_range(options);
  expect_implicit_options(options);
  return {options.max_epochs, options.time_limit_s, options.checkpoint, options.resume,
          options.checkpoint_every};
}

/// A model with numbers of its own for the biases, which shares A^(n) and B^(n).
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> with_own_biases(Space const& space, FastTuckerModel<Scalar, Space> model) {
  for (int n = 0; n < model.order(); ++n) {
    if (model.has_biases()) {
      auto const bias = model.bias(n);
      model.bias(n) = BiasVector<Scalar, Space>(uninitialized(space, "polyad::scaled_bias"), bias.extent(0));
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

/// What a run begins with.
template <class Scalar, class Space>
struct Start {
  FastTuckerModel<Scalar, Space> model;
  FastTuckerState state = {};     // to resume, or the choice of the options
  bool fills            = false;  // whether fill_start is still to be called
  bool weakens          = false;  // whether it was or will be random: the shrinkage then begins strong
};

/// A run in formats that are built of the values as they are.
/// \param unscaled  multiplies errors to those of the values that the caller has
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_values(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options, Start<Scalar, Space>&& start,
                                           AnyFormatOptions const& format, FastTuckerCallback const& callback,
                                           Rows<Scalar, Index, Space> const& rows, double unscaled) {
  auto const X = interactions(space, sets.train, start.model, asked_of(format, options), rows);
  POLYAD_EXPECTS(X.nnz() > 0, "there are no entries to learn from");
  if (start.fills) {
    std::vector<count_t> first_rows;
    for (int n = 0; n < start.model.order(); ++n) first_rows.push_back(rows->first_row(n));
    double const deviation =
        options.implicit ? 1 : std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
    detail::fill_start_of_rows(space, start.model, deviation, options.seed, options.targets, first_rows);
  }
  bool const saves_choice = start.state.has_choice && !options.checkpoint.empty();
  bool const weakens      = start.weakens;
  RunLoop<FastTuckerBody<Scalar, Index, Space>> run(checked_limits(options), rows, space, X, sets, options,
                                                    start.model, std::move(start.state), unscaled);
  if (weakens) run.driver().begin_with_strong_shrinkage();
  if (saves_choice && run.driver().iterations() == 0) run.driver().save(options.checkpoint);
  auto fitted = run.run(callback);
  if (sets.train.on_host() && format.format == "auto")
    fitted.format.because = "the training set does not fit the memory next to what a run holds of it";
  return fitted;
}

/// A run on values times value_scale.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_scaled(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options, Start<Scalar, Space>&& start,
                                           AnyFormatOptions const& format, FastTuckerCallback const& callback,
                                           Rows<Scalar, Index, Space> const& rows) {
  double const factor = detail::value_scale(space, sets.train, options, *rows);
  if (factor == 1) return fit_values(space, sets, options, std::move(start), format, callback, rows, 1.0);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  auto const biases = start.model;
  auto const scaled = rows->together([&] {
    start.model = with_own_biases(space, biases);
    return scaled_sets(space, sets, factor);
  });
  scale_predictions(space, factor, start.model, options.targets);
  auto result = fit_values(space, scaled, inner, std::move(start), format, callback, rows, 1 / factor);
  scale_predictions(space, 1 / factor, result.model, options.targets);
  result.model.share_biases(biases);
  return result;
}

/// A model whose A^(n) have the rows that this rank owns, all zero.
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> model_of_owned_rows(Space const& space, FastTuckerOptions const& options,
                                                   RowDistribution<Scalar, Space> const& rows) {
  Extents const& extents = rows.extents();
  POLYAD_EXPECTS(options.columns.size() == static_cast<std::size_t>(extents.order()), options.columns.size(),
                 " column counts J for a model of ", extents.order(), " modes");
  return rows.together([&] {
    std::vector<count_t> owned;
    for (int n = 0; n < extents.order(); ++n) owned.push_back(rows.rows(n));
    return FastTuckerModel<Scalar, Space>(space, extents, options.columns, options.rank, options.biases,
                                          owned);
  });
}

/// The state that a run resumes: facts on all ranks, matrices on the first.
template <class Scalar, class Index, class Space>
FastTuckerState state_to_resume(FastTuckerOptions const& options, Rows<Scalar, Index, Space> const& rows) {
  auto state = rows->on_root([&] { return io::read_fast_tucker_checkpoint(options.resume); });
  share_facts(*rows, state);
  expect_asked(state, asked_text(options));
  auto const& extents = rows->extents();
  bool same           = state.extents.size() == static_cast<std::size_t>(extents.order());
  for (int n = 0; same && n < extents.order(); ++n) same = state.extents[n] == extents[n];
  if (!same) refuse_state(state, "is a checkpoint of other entries");
  if (state.columns.size() != state.extents.size() || state.rank == 0)
    refuse_state(state, "has a model of another number of modes");
  return state;
}

/// The format of the checkpoint. \throws as refuse_state, if the optimizer cannot use it
std::string format_of(FastTuckerState const& state, FastTuckerOptions const& options) {
  bool known = state.format != "auto";
  try {
    expect_format(state.format);
    for (Capability const capability : facts_of(options.optimizer).needs)
      known = known && format_offers(state.format, capability);
  } catch (UsageError const&) {
    known = false;
  }
  if (!known)
    refuse_state(state,
                 "is a checkpoint of the format '" + state.format + "', which this optimizer does not take");
  return state.format;
}

/// Why a run after a choice ended. Where the choice allows fewer epochs than the options, its end is not a
/// limit that the user set.
StopReason reason_after_choice(FastTuckerOptions const& asked, FastTuckerOptions const& chosen,
                               StopReason reason) {
  bool const all_chosen = reason == StopReason::max_iterations && chosen.max_epochs < asked.max_epochs;
  return all_chosen ? StopReason::converged : reason;
}

/// Resumes a run from its state.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> continue_run(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                             FastTuckerOptions const& options,
                                             FastTuckerCallback const& callback,
                                             AnyFormatOptions const& given,
                                             Rows<Scalar, Index, Space> const& rows) {
  auto format = given;
  auto state  = state_to_resume<Scalar, Index, Space>(options, rows);
  auto chosen = with_shape(with_chosen(options, state), rows->extents().order());
  if (state.has_choice)
    chosen.max_epochs = std::min(chosen.max_epochs, static_cast<int>(state.choice_epochs));
  auto of_state   = chosen;
  of_state.biases = !state.biases.empty();
  Start<Scalar, Space> start{model_of_owned_rows<Scalar, Space>(space, of_state, *rows)};
  rows->together([&] { set_biases(space, state, start.model); });
  bool const takes_format = format.format == "auto" && rows->keeps_format();
  if (takes_format) format.format = format_of(state, options);
  std::optional<FastTuckerChoice<Scalar, Space>> choice;
  start.weakens = !state.has_choice;
  if (state.has_choice) {
    choice.emplace();
    choice->left_to_biases = state.left_to_biases;
    choice->options        = chosen;
    choice->biases         = state.choice_biases;
    choice->model          = state.choice_model;
    choice->candidates     = static_cast<int>(state.candidates);
    choice->seconds        = state.choice_s;
  }
  start.state = std::move(state);
  auto result = fit_scaled(space, sets, chosen, std::move(start), format, callback, rows);
  if (choice) result.reason = reason_after_choice(options, chosen, result.reason);
  result.choice = std::move(choice);
  if (takes_format) result.format.because = "the checkpoint is of it";
  return result;
}

/// The part of the states of a run that does not change, if it saves any.
template <class Scalar, class Space>
FastTuckerState state_of_start(Space const& space, FastTuckerOptions const& asked,
                               FastTuckerOptions const& chosen, FastTuckerModel<Scalar, Space> const& model,
                               RunRanks const& ranks) {
  return ranks.on_root([&] {
    FastTuckerState state;
    if (asked.checkpoint.empty()) return state;
    state.asked = asked_text(asked);
    put_chosen(chosen, state);
    if (chosen.bias.damping == asked.bias.damping) state.bias_damping.clear();
    put_biases(space, model, state);
    return state;
  });
}

/// Mean and biases alone, fitted to the training set.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> only_biases(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                            FastTuckerOptions options,
                                            Rows<Scalar, Index, Space> const& rows) {
  FastTuckerResult<Scalar, Space> result;
  options.rank = 1;
  options.columns.assign(sets.train.order(), 1);
  result.model       = model_of_owned_rows<Scalar, Space>(space, options, *rows);
  result.model.range = {options.range.lowest, options.range.highest};
  if (options.biases) detail::fit_biases(space, sets.train, options.bias, result.model, *rows);
  result.reason   = StopReason::converged;
  auto const sums = rows->together([&] { return sums_for(space, sets); });
  result.biases   = errors_of_biases(space, result.model, sets, sums, *rows);
  return result;
}

/// The best candidate of a search that ended early, as it is, with biases that a few sweeps fit to all
/// entries: what is left of a run that a limit or a signal ends.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> only_start(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options,
                                           std::vector<std::uint64_t> const& left_to_biases,
                                           FastTuckerModel<Scalar, Space> model,
                                           Rows<Scalar, Index, Space> const& rows) {
  constexpr int few_sweeps = 2;
  auto bias                = options.bias;
  bias.sweeps              = std::min(bias.sweeps, few_sweeps);
  if (options.biases) detail::fit_biases(space, sets.train, bias, model, *rows);
  leave_to_biases(space, sets.train, left_to_biases, model, *rows);
  FastTuckerResult<Scalar, Space> result;
  auto const sums = rows->together([&] { return sums_for(space, sets); });
  result.biases   = errors_of_biases(space, model, sets, sums, *rows);
  auto const C =
      rows->together([&] { return FactorMatrices<Scalar, Space>(space, model.extents(), model.rank()); });
  for (int n = 0; n < model.order(); ++n) {
    auto own = C;
    own[n]   = rows->owned(n, C[n]);
    form_intermediates(space, model, n, own);
    rows->gather_rows(n, C[n]);
  }
  auto const parts = rows->together([&] { return errors_of_part(space, model, C, sets, sums); });
  result.errors    = errors_of_all(parts, *rows);
  result.model     = std::move(model);
  return result;
}

/// Gives all ranks the first one's choice, without its start.
template <class Scalar, class Space>
void share_choice(FastTuckerOptions const& options, RunRanks const& ranks,
                  FastTuckerChoice<Scalar, Space>& choice) {
  FastTuckerState state;
  put_chosen(choice.options, state);
  state.candidates     = static_cast<std::uint64_t>(choice.candidates);
  state.choice_s       = choice.seconds;
  state.choice_biases  = choice.biases;
  state.choice_model   = choice.model;
  state.left_to_biases = choice.left_to_biases;
  share_facts(ranks, state);
  double facts[] = {static_cast<double>(choice.options.max_epochs), choice.learns ? 1.0 : 0.0,
                    static_cast<double>(choice.reason)};
  ranks.broadcast_from_root(facts, std::size(facts));
  choice.options            = with_chosen(options, state);
  choice.options.max_epochs = static_cast<int>(facts[0]);
  choice.learns             = facts[1] != 0;
  choice.reason             = static_cast<StopReason>(static_cast<int>(facts[2]));
  choice.left_to_biases     = state.left_to_biases;
  choice.candidates         = static_cast<int>(state.candidates);
  choice.seconds            = state.choice_s;
  choice.biases             = state.choice_biases;
  choice.model              = state.choice_model;
}

/// The rows that this rank owns of the start that the first one found, which is given up.
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> owned_start(Space const& space, FastTuckerChoice<Scalar, Space>& choice,
                                           RowDistribution<Scalar, Space> const& rows) {
  auto const& options = choice.options;
  auto one_column     = options;
  one_column.columns.assign(options.columns.size(), 1);
  auto model  = model_of_owned_rows<Scalar, Space>(space, one_column, rows);
  model.range = choice.start.range;
  for (int n = 0; n < model.order(); ++n) {
    count_t const J = options.columns[n];
    model.A(n)      = rows.held_of_root(n, choice.start.A(n), J);
    model.B(n) =
        rows.together([&] { return make_factor_matrix<Scalar>(space, "polyad::core", J, options.rank); });
    rows.on_root([&] { copy_matrix(space, model.B(n), choice.start.B(n)); });
    rows.broadcast_from_root(model.B(n));
  }
  choice.start = {};
  return model;
}

/// A run whose options leave something to choose.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_chosen(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options,
                                           FastTuckerCallback const& callback, AnyFormatOptions const& given,
                                           Rows<Scalar, Index, Space> const& rows,
                                           FastTuckerSearchCallback const& on_search) {
  POLYAD_EXPECTS(rows->sum_on_host(std::uint64_t(sets.train.nnz())) > 0,
                 "there are no entries to learn from");
  Kokkos::Timer const clock;
  auto format = given;
  // on_search ends a search and keeps its result, where an exception of the hook would lose it. Afterwards
  // the callback of the first epoch ends the run.
  if (on_search) format.hooks.progress = {};
  auto choice = detail::choose(space, sets.train, options, format, *rows, most_searched, on_search);
  share_choice(options, *rows, choice);
  rows->together([&] {
    if (format.hooks.progress) format.hooks.progress("choosing the shrinkage");
  });
  bool const ended_early =
      choice.reason == StopReason::time_limit || choice.reason == StopReason::interrupted;
  FastTuckerResult<Scalar, Space> result;
  if (choice.learns && ended_early) {
    auto const start = owned_start(space, choice, *rows);
    result           = only_start(space, sets, choice.options, choice.left_to_biases, start, rows);
    result.reason    = choice.reason;
  } else if (choice.learns) {
    Start<Scalar, Space> start{owned_start(space, choice, *rows)};
    if (options.biases) detail::fit_biases(space, sets.train, choice.options.bias, start.model, *rows);
    start.state               = state_of_start(space, options, choice.options, start.model, *rows);
    start.state.has_choice    = true;
    start.state.candidates    = static_cast<std::uint64_t>(choice.candidates);
    start.state.choice_s      = choice.seconds;
    start.state.choice_biases = choice.biases;
    start.state.choice_model  = choice.model;
    // If the search used all epochs that it was allowed, a resumed run may have more.
    bool const is_cut = choice.options.max_epochs >= options.max_epochs;
    start.state.choice_epochs =
        static_cast<std::uint64_t>(is_cut ? std::numeric_limits<int>::max() : choice.options.max_epochs);
    start.state.left_to_biases = choice.left_to_biases;
    auto limited               = choice.options;
    limited.time_limit_s       = std::max(0.0, options.time_limit_s - clock.seconds());
    result                     = fit_scaled(space, sets, limited, std::move(start), format, callback, rows);
    result.reason              = reason_after_choice(options, choice.options, result.reason);
  } else {
    auto only = choice.options;
    if (ended_early) only.bias.sweeps = std::min(only.bias.sweeps, 2);
    result = only_biases(space, sets, only, rows);
    if (choice.reason != StopReason::converged) result.reason = choice.reason;
  }
  result.choice = std::move(choice);
  return result;
}

/// A run from a random start.
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fit_random(Space const& space, DataSplits<Scalar, Index, Space> const& sets,
                                           FastTuckerOptions const& options,
                                           FastTuckerCallback const& callback, AnyFormatOptions const& format,
                                           Rows<Scalar, Index, Space> const& rows) {
  auto const shaped = with_shape(options, sets.train.order());
  Start<Scalar, Space> start{model_of_owned_rows<Scalar, Space>(space, shaped, *rows), {}, true, true};
  if (options.biases) detail::fit_biases(space, sets.train, options.bias, start.model, *rows);
  start.state = state_of_start(space, options, shaped, start.model, *rows);
  return fit_scaled(space, sets, shaped, std::move(start), format, callback, rows);
}

}  // namespace

bool draws_rows(FastTuckerOptions const& options) {
  bool const has_ridge = options.ridge || options.ridge_per_entry || options.implicit;
  return facts_of(options.optimizer).draws_rows && !has_ridge;
}

FastTuckerOptions with_shape(FastTuckerOptions options, int order) {
  options       = settled(std::move(options), order);
  auto& columns = options.columns;
  if (options.rank == 0)
    options.rank = columns.empty() ? 8 : *std::max_element(columns.begin(), columns.end());
  if (columns.empty()) columns = {options.rank};
  if (columns.size() == 1) columns.assign(order, columns[0]);
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
  count_t const order  = extents.order();
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
  return fast_tucker(space, data, options, copied(space, start), callback);
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& given,
                                            FastTuckerModel<Scalar, Space>&& start,
                                            FastTuckerCallback const& callback) {
  auto const options = settled(given, start.order());
  auto const limits  = checked_limits(options);
  POLYAD_EXPECTS(options.checkpoint.empty() && options.resume.empty() && !data.rows,
                 "a run from a start has no checkpoints, and runs on one rank");
  bool const is_implicit = options.implicit.has_value();
  POLYAD_EXPECTS(!is_implicit || !data.format,
                 "implicit feedback makes the format itself: it sums repeated entries first");
  POLYAD_EXPECTS(!is_implicit || (!start.has_biases() && start.mean == 0 && start.time_mode < 0),
                 "implicit feedback takes a start without mean and biases");
  auto const sets = sets_of(space, data, is_implicit);
  if (is_implicit) expect_implicit_values(space, sets.train, RunRanks());
  if (data.format) {
    TensorByRank<Scalar, Space> const X(space, *data.format);
    return RunLoop<FastTuckerBody<Scalar, Index, Space>>(limits, X.rows(), space, X, sets, options, start,
                                                         FastTuckerState(), 1.0)
        .run(callback);
  }
  auto with = options;
  with.rank = start.rank();
  return fit_scaled(space, sets, with, Start<Scalar, Space>{start}, {}, callback, rows_of(space, data));
}

template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& given,
                                            FastTuckerCallback const& callback,
                                            AnyFormatOptions const& format,
                                            FastTuckerSearchCallback const& on_search) {
  int const order    = std::max(data.train.order(), data.train_on_host.order());
  auto const options = settled(given, order);
  static_cast<void>(checked_limits(options));
  POLYAD_EXPECTS(!data.format,
                 "a format chosen before the run requires the start whose biases were subtracted");
  auto const rows   = rows_of(space, data);
  auto const& facts = facts_of(options.optimizer);
  rows->expect_supported(facts.runs_on_ranks, facts.name);
  auto const sets = rows->together([&] { return sets_of(space, data, options.implicit.has_value()); });
  if (options.implicit) expect_implicit_values(space, sets.train, *rows);
  auto result = !options.resume.empty()  ? continue_run(space, sets, options, callback, format, rows)
                : leaves_choice(options) ? fit_chosen(space, sets, options, callback, format, rows, on_search)
                                         : fit_random(space, sets, options, callback, format, rows);
  for (int n = 0; n < result.model.order(); ++n)
    result.model.A(n) = rows->whole_on_root(n, result.model.A(n));
  result.model = rows->on_root([&] { return result.model; });
  return result;
}

#define POLYAD_FAST_TUCKER(Scalar, Index)                                                                  \
  template FastTuckerResult<Scalar, CompiledSpace> fast_tucker(                                            \
      CompiledSpace const&, FastTuckerData<Scalar, Index, CompiledSpace> const&, FastTuckerOptions const&, \
      FastTuckerModel<Scalar, CompiledSpace> const&, FastTuckerCallback const&);                           \
  template FastTuckerResult<Scalar, CompiledSpace> fast_tucker(                                            \
      CompiledSpace const&, FastTuckerData<Scalar, Index, CompiledSpace> const&, FastTuckerOptions const&, \
      FastTuckerModel<Scalar, CompiledSpace>&&, FastTuckerCallback const&);                                \
  template FastTuckerResult<Scalar, CompiledSpace> fast_tucker(                                            \
      CompiledSpace const&, FastTuckerData<Scalar, Index, CompiledSpace> const&, FastTuckerOptions const&, \
      FastTuckerCallback const&, AnyFormatOptions const&, FastTuckerSearchCallback const&);                \
  template bool stays_on_host<Scalar, Index>(CompiledSpace const&, Extents const&, count_t,                \
                                             FastTuckerOptions const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER);

}  // namespace polyad
