// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "fast_tucker/candidate.hpp"
#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/held_out.hpp"
#include "fast_tucker/sample_rows.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

// The held-out share is a twentieth. A small set holds out more, enough to tell errors apart that differ by a
// percent. A large set needs no more than `most` for that.
constexpr double usual_share = 0.05, largest_share = 0.2, wanted = 5000, most = 400000;
/// Nothing is chosen with fewer held-out entries.
constexpr count_t least_held_out = 10;
/// The least gain over mean and biases, in standard errors of the gain. A smaller gain may be chance, since
/// it is that of the best of many candidates.
constexpr double least_gain = 3;
/// The least relative fall of the held-out error that makes a candidate better. If the error is still falling
/// faster from epoch to epoch, any change would look good. A change that adds a mode needs a larger fall.
constexpr double better_by = 1e-3, worth_a_mode = 3e-3;

double share_held_out(count_t nnz) {
  auto const entries = static_cast<double>(nnz);
  return std::min(std::clamp(wanted / entries, usual_share, largest_share), std::max(most, 1.0) / entries);
}

/// Modes in the order in which they are left out of the product: the shortest first.
std::vector<int> shortest_first(Extents const& extents) {
  std::vector<int> modes(static_cast<std::size_t>(extents.order()));
  std::iota(modes.begin(), modes.end(), 0);
  std::stable_sort(modes.begin(), modes.end(), [&](int m, int n) { return extents[m] < extents[n]; });
  return modes;
}

/// The search: each step changes one thing of the best options so far.
template <class Scalar, class Index, class Space>
class Search {
public:
  Search(Space const& space, Evidence<Scalar, Index, Space> const& evidence, FastTuckerOptions const& options)
      : m_space(space), m_evidence(evidence), m_options(options) {}

  /// \param chooses_ridge  whether to try a ridge, which suits only one scale of the values
  void run(bool chooses_rank, bool chooses_ridge) {
    choose_targets();
    walk_shrinkage();
    choose_share();
    draw_to_one();
    if (chooses_ridge) try_ridge_per_entry();
    if (chooses_rank) climb_ranks();
    confirm();
  }

  using Run = CandidateRun<Scalar, Index, Space>;
  [[nodiscard]] Run& best() { return *m_best; }
  /// Predictions of the held-out entries by the best candidate, after the epochs that follow the search. The
  /// least error of any epoch would be biased: a fit that overfits may briefly come close to the biases.
  [[nodiscard]] std::vector<double> const& predictions() const { return m_predictions; }
  [[nodiscard]] int candidates() const { return m_candidates; }

private:
  static constexpr int first_epochs = 6;  // of a start: planted ratings are learned in five or six
  static constexpr int most_epochs  = 16;
  static constexpr int more_epochs  = 6;  // after a change, at most
  static_assert(more_epochs == last_epochs);

  std::unique_ptr<Run> start(FastTuckerOptions const& options, int least, int most) {
    ++m_candidates;
    auto run = std::make_unique<Run>(m_space, m_evidence, options);
    run->go_on(options, least, most);
    return run;
  }
  /// Continues from the best model. Returns whether the error fell by at least that share.
  bool improves(FastTuckerOptions const& options, double share = better_by, int least = 2) {
    ++m_candidates;
    m_best->restore();
    double const before = m_best->least().rmse;
    auto const previous = m_best->best();
    m_best->go_on(options, least, more_epochs);
    if (!(m_best->least().rmse < before * (1 - share))) {
      m_best->recall(previous);
      return false;
    }
    m_previous.push_back(previous);
    return true;
  }
  [[nodiscard]] FastTuckerOptions options() const { return m_best->best(); }

  /// Chooses the modes in the product: all, all but the shortest, and so on down to two. If all J equal R, a
  /// rank of 8 is enough to decide.
  void choose_targets() {
    auto options      = m_options;
    options.shrinkage = Shrinkage{.observations = 30};
    if (options.targets.empty()) {
      auto small = options;
      if (std::all_of(small.columns.begin(), small.columns.end(),
                      [&](count_t J) { return J == small.rank; })) {
        small.rank = std::min<count_t>(small.rank, 8);
        small.columns.assign(small.columns.size(), small.rank);
      }
      small.targets.assign(small.columns.size(), RowTarget::zero);
      m_best           = start(small, first_epochs, first_epochs);
      auto const modes = shortest_first(m_evidence.X.extents());
      for (std::size_t left_out = 0; left_out + 2 < modes.size(); ++left_out) {
        small.targets[static_cast<std::size_t>(modes[left_out])] = RowTarget::left_out;
        auto other                                               = start(small, first_epochs, first_epochs);
        if (other->least().rmse < m_best->least().rmse * (1 + worth_a_mode)) m_best = std::move(other);
      }
      options.targets = m_best->best().targets;
      if (small.rank == options.rank) {
        m_best->restore();
        m_best->go_on(m_best->best(), 2, most_epochs - first_epochs);
        return;
      }
    }
    m_best = start(options, first_epochs, most_epochs);
  }

  /// Weakens the shrinkage until the error rises. If the first step does not help, tries stronger shrinkage.
  void walk_shrinkage() {
    auto const step = [&](double factor) {
      auto next = options();
      next.shrinkage->observations *= factor;
      return improves(next, factor < 1 ? better_by : worth_a_mode);
    };
    bool weaker = false;
    for (int steps = 0; steps < 8 && step(1. / 3); ++steps) weaker = true;
    if (weaker) return;
    for (int steps = 0; steps < 4 && step(3); ++steps) {
    }
  }

  /// Chooses `share`, the uncertainty of the other modes' rows. A smaller share may need less shrinkage.
  void choose_share() {
    auto next             = options();
    next.shrinkage->share = 0.2;
    if (improves(next)) return;
    next.shrinkage->share = 0;
    if (improves(next, worth_a_mode, 4)) walk_shrinkage();
  }

  /// Tries the modes that were left out again, with rows drawn to one: strongly at first, then more weakly.
  void draw_to_one() {
    auto next = options();
    if (std::find(next.targets.begin(), next.targets.end(), RowTarget::left_out) == next.targets.end() ||
        !m_options.targets.empty())
      return;
    std::replace(next.targets.begin(), next.targets.end(), RowTarget::left_out, RowTarget::one);
    next.shrinkage->to_one = 1000;
    if (!improves(next, worth_a_mode, 4)) return;
    for (double const to_one : {300., 100., 30., 10.}) {
      next.shrinkage->to_one = to_one;
      if (!improves(next)) break;
    }
  }

  /// Candidates are judged after few epochs. If more epochs raise the error, this returns to the previous
  /// options, unless these are no better after as many epochs.
  void confirm() {
    for (int rounds = 0; rounds < 6; ++rounds) {
      m_best->restore();
      auto const now      = options();
      double const before = m_best->least().rmse;
      double const after  = m_best->go_on(now, more_epochs, more_epochs).rmse;
      m_predictions       = m_best->predictions();
      if (after <= before * (1 + better_by) || m_previous.empty()) return;
      auto previous    = m_previous.back();
      previous.rank    = now.rank;
      previous.columns = now.columns;
      m_previous.pop_back();
      if (!(m_best->go_on(previous, more_epochs, more_epochs).rmse < after)) {
        m_best->recall(now);
        return;
      }
      m_predictions = m_best->predictions();
      m_best->forget();
      m_best->go_on(previous, 2, 2);
    }
  }

  /// Tries a ridge on the scale of the values. With k modes in the product, C^(n) has the scale deviation^(1
  /// / k), and ridge |c|^2 must scale as the square of a value. A factor of 0.2 suits ratings; then a smaller
  /// and a larger one are tried.
  void try_ridge_per_entry() {
    auto next = options();
    if (std::any_of(next.columns.begin(), next.columns.end(), [&](count_t J) { return J < next.rank; }))
      return;
    auto const modes =
        static_cast<double>(std::count(next.targets.begin(), next.targets.end(), RowTarget::zero));
    next.ridge           = 0.2 * std::pow(m_evidence.deviation, 2 - 2 / modes);
    next.ridge_per_entry = true;
    next.update_cores    = false;
    if (!improves(next, better_by, 4)) return;
    for (double const factor : {0.8, 1.25}) {
      auto step = options();
      *step.ridge *= factor;
      if (improves(step)) break;
    }
  }

  /// Higher ranks, while they help, fit the memory, and are not above the options' limit.
  void climb_ranks() {
    for (count_t const rank : searched_ranks) {
      if (rank > m_options.most_rank) return;
      auto next = options();
      next.rank = rank;
      next.columns.assign(next.columns.size(), rank);
      std::unique_ptr<Run> other;
      try {
        other = start(next, 10, 24);
      } catch (MemoryError const&) {  // the best so far is a result all the same
        return;
      }
      bool const better = other->least().rmse < m_best->least().rmse * (1 - better_by);
      if (!better) return;
      m_best = std::move(other);
    }
  }

  Space m_space;
  Evidence<Scalar, Index, Space> const& m_evidence;
  FastTuckerOptions m_options;
  std::unique_ptr<Run> m_best;
  std::vector<FastTuckerOptions> m_previous;  // the best before, and those before it
  std::vector<double> m_predictions;
  int m_candidates = 0;
};

/// Chooses which modes' biases drift, in how many bins, and with which damping. The least held-out error of
/// mean and biases alone decides. Takes one mode after the other, the longest last: first the bins, then the
/// damping.
template <class Scalar, class Index, class Space>
class DriftSearch {
public:
  DriftSearch(Space const& space, Entries<Scalar, Index, Space> const& kept,
              CooTensor<Scalar, Index, Space> const& held, BiasOptions const& options,
              FastTuckerModel<Scalar, Space> const& biases)
      : m_space(space),
        m_kept(kept),
        m_held(held),
        m_sums(make_error_sums(space, held.nnz())),
        m_model(biases),
        m_nothing(make_intermediates(space, biases)),
        m_best(options) {
    m_best.sweeps = std::min(options.sweeps, few_sweeps);
    m_best.drift.assign(static_cast<std::size_t>(kept.order()), BiasDrift{});
    m_least = error(m_best);
  }

  std::vector<BiasDrift> run() {
    for (int const n : shortest_first(m_kept.extents())) {
      count_t const most = most_bins(m_kept.extents(), m_kept.nnz(), n, m_best.time_mode);
      auto best          = m_best;
      double least       = m_least;
      auto const better  = [&](BiasDrift const& drift) {
        auto options                               = best;
        options.drift[static_cast<std::size_t>(n)] = drift;
        double const found                         = error(options);
        if (!(found < least)) return false;
        best  = options;
        least = found;
        return true;
      };
      for (count_t bins = 4; bins / 4 < most && bins <= 1024; bins *= 4)
        static_cast<void>(better({std::min(bins, most), BiasDrift{}.damping}));
      BiasDrift const found = best.drift[static_cast<std::size_t>(n)];
      for (double const factor : {1. / 3, 3.}) {
        double damping = found.damping * factor;
        while (found.bins > 0 && better({found.bins, damping}) && damping < 1000 && damping > 1)
          damping *= factor;
        if (best.drift[static_cast<std::size_t>(n)].damping != found.damping) break;
      }
      if (least < m_least * (1 - better_by)) {
        m_best  = best;
        m_least = least;
      }
    }
    return m_best.drift;
  }

private:
  static constexpr int few_sweeps = 4;  // enough to tell candidates apart

  double error(BiasOptions const& options) {
    fit_biases(m_space, m_kept, options, m_model, RowDistribution<Scalar, Space>(m_space, m_kept.extents()));
    return polyad::errors(m_space, m_model, m_nothing, m_held, m_sums).rmse;
  }

  Space m_space;
  Entries<Scalar, Index, Space> m_kept;
  CooTensor<Scalar, Index, Space> m_held;
  ErrorSums<Space> m_sums;
  FastTuckerModel<Scalar, Space> m_model;  // its biases are fitted anew for each candidate
  FactorMatrices<Scalar, Space> m_nothing;
  BiasOptions m_best;
  double m_least = 0;
};

/// Whether `after` is better than `before`, by squared errors of the same entries. The gain must exceed both
/// chance and a minimal share.
bool gains(std::vector<double> const& values, std::vector<double> const& before,
           std::vector<double> const& after) {
  double sum = 0, squares = 0, errors = 0;
  for (std::size_t p = 0; p < values.size(); ++p) {
    double const a = values[p] - before[p], b = values[p] - after[p];
    double const gain = a * a - b * b;
    sum += gain;
    squares += gain * gain;
    errors += a * a;
  }
  auto const count   = static_cast<double>(values.size());
  double const error = std::sqrt(std::max(0.0, squares - sum * sum / count));  // of the sum
  return sum > least_gain * error && sum > 2 * better_by * errors;             // half of that for their roots
}

template <class Scalar, class Index, class Space>
double squares_of(Space const& space, Entries<Scalar, Index, Space> const& X) {
  double sum = 0;
  X.for_each_stretch(space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch,
                                count_t /*first*/) { sum += norm_squared(on, stretch); });
  return sum;
}

/// A choice before anything is tried: mean and biases alone.
template <class Scalar, class Space>
FastTuckerChoice<Scalar, Space> choice_of_biases(FastTuckerOptions const& options, int order) {
  FastTuckerChoice<Scalar, Space> choice;
  choice.options           = with_shape(options, order);
  choice.options.shrinkage = Shrinkage{};
  if (choice.options.targets.empty())
    choice.options.targets.assign(static_cast<std::size_t>(order), RowTarget::zero);
  choice.learns = false;
  return choice;
}

/// Mean and biases of the entries that are kept, with the drift that the held-out ones confirm.
/// \param bias  gets the drift
template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> biases_of(Space const& space, Entries<Scalar, Index, Space> const& kept,
                                         CooTensor<Scalar, Index, Space> const& held,
                                         FastTuckerOptions const& options, BiasOptions& bias) {
  std::vector<count_t> const one_column(static_cast<std::size_t>(kept.order()), 1);
  FastTuckerModel<Scalar, Space> biases(space, kept.extents(), one_column, 1, options.biases);
  biases.range = {options.range.lowest, options.range.highest};
  if (options.biases && bias.time_mode >= 0 && bias.drift.empty())
    bias.drift = DriftSearch<Scalar, Index, Space>(space, kept, held, bias, biases).run();
  if (options.biases)
    fit_biases(space, kept, bias, biases, RowDistribution<Scalar, Space>(space, kept.extents()));
  return biases;
}

template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_as_they_are(Space const& space,
                                                   Entries<Scalar, Index, Space> const& train,
                                                   FastTuckerOptions const& options,
                                                   AnyFormatOptions const& format, bool chooses_ridge) {
  Kokkos::Timer const clock;
  auto choice      = choice_of_biases<Scalar, Space>(options, train.order());
  auto const parts = detail::hold_out(space, train, share_held_out(train.nnz()));
  auto const& kept = parts.first;
  auto const& held = parts.second;  // nvcc 13 cannot capture a structured binding
  auto bias        = choice.options.bias;
  if (held.nnz() < least_held_out || kept.nnz() == 0) {
    // There is no evidence of drift.
    if (bias.drift.empty() && bias.time_mode >= 0)
      choice.options.bias.drift.resize(choice.options.targets.size());
    choice.seconds = clock.seconds();
    return choice;
  }
  auto const biases   = biases_of(space, kept, held, options, bias);
  choice.options.bias = bias;
  auto const sums     = make_error_sums(space, held.nnz());
  auto const nothing  = make_intermediates(space, biases);  // its factors are zero
  choice.biases       = errors(space, biases, nothing, held, sums);

  auto const search_options = with_shape(options, train.order());
  Evidence<Scalar, Index, Space> evidence{interactions(space, kept, biases, asked_of(format, search_options)),
                                          held, biases, sums, 0};
  double const squares = evidence.X.norm_squared();
  evidence.deviation   = std::sqrt(squares / static_cast<double>(kept.nnz()));
  // If the biases explain everything, the remainder is rounding.
  constexpr double rounding = 64 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  if (!(squares > rounding * rounding * squares_of(space, kept))) {
    choice.model   = choice.biases;
    choice.seconds = clock.seconds();
    return choice;
  }
  Search<Scalar, Index, Space> search(space, evidence, search_options);
  search.run(leaves_rank(options), chooses_ridge);
  auto& best = search.best();
  best.restore();
  if (!best.has_best())
    throw NumericalError("no candidate's error is a finite number: scale the values, or take doubles");
  choice.options            = best.best();
  choice.options.bias       = bias;
  choice.options.max_epochs = std::min(options.max_epochs, last_epochs);
  choice.start              = best.model();
  choice.model              = best.least();
  choice.learns     = gains(numbers_on_host(space, held.values()),
                            numbers_on_host(space, predict(space, biases, held)), search.predictions());
  choice.candidates = search.candidates();
  choice.seconds    = clock.seconds();
  return choice;
}

/// The same for values of any scale.
template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_of_any_scale(Space const& space,
                                                    Entries<Scalar, Index, Space> const& train,
                                                    FastTuckerOptions const& options,
                                                    AnyFormatOptions const& format) {
  double const factor = detail::value_scale(space, train, options, RunRanks());
  if (factor == 1) return choose_as_they_are(space, train, options, format, true);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  auto choice = choose_as_they_are(space, detail::scaled(space, train, factor), inner, format, false);
  choice.options.range = options.range;
  for (auto* errors : {&choice.biases, &choice.model}) {
    errors->rmse /= factor;
    errors->mae /= factor;
  }
  if (choice.start.order() == 0) return choice;  // nothing was tried
  scale_predictions(space, 1 / factor, choice.start, choice.options.targets);
  return choice;
}

}  // namespace

bool leaves_choice(FastTuckerOptions const& options) {
  return draws_rows(options) && !options.shrinkage;
}

bool leaves_rank(FastTuckerOptions const& options) {
  return leaves_choice(options) && options.rank == 0 && options.columns.empty();
}

template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> detail::choose(Space const& space, Entries<Scalar, Index, Space> const& all,
                                               FastTuckerOptions const& options,
                                               AnyFormatOptions const& format,
                                               NonzeroDistribution<Scalar, Index, Space> const& rows,
                                               count_t most) {
  POLYAD_EXPECTS(leaves_choice(options), "the options leave nothing to choose");
  // Drifts have a number for each row and bin. The rows of a sample have too few entries for them.
  bool const drifts       = options.bias.time_mode >= 0;
  auto const of_all_ranks = [&](count_t entries) { return rows.sum_on_host(std::uint64_t(entries)); };
  RowSample const sampled = drifts ? RowSample{} : row_sample(all.extents(), of_all_ranks(all.nnz()), most);
  auto train              = all;
  if (sampled.share < 1)
    train = rows.together([&] { return sample_rows(space, all, sampled.mode, sampled.share); });
  if (of_all_ranks(train.nnz()) < most / 4) train = all;  // few rows have nearly all
  if (!train.on_host()) train = Entries<Scalar, Index, Space>(rows.to_root(train.tensor()));
  return rows.on_root([&] { return choose_of_any_scale(space, train, options, format); });
}

template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_fast_tucker(Space const& space,
                                                   CooTensor<Scalar, Index, Space> const& train,
                                                   FastTuckerOptions const& options,
                                                   AnyFormatOptions format) {
  expect_coordinates_inside(space, train);
  return detail::choose(space, Entries<Scalar, Index, Space>(train), options, format,
                        NonzeroDistribution<Scalar, Index, Space>(space, train.extents()));
}

#define POLYAD_CHOOSE(Scalar, Index)                                                                        \
  template FastTuckerChoice<Scalar, Kokkos::DefaultExecutionSpace> choose_fast_tucker(                      \
      Kokkos::DefaultExecutionSpace const&, CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FastTuckerOptions const&, AnyFormatOptions);                                                          \
  template FastTuckerChoice<Scalar, Kokkos::DefaultExecutionSpace> detail::choose(                          \
      Kokkos::DefaultExecutionSpace const&, Entries<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,   \
      FastTuckerOptions const&, AnyFormatOptions const&,                                                    \
      NonzeroDistribution<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, count_t)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CHOOSE);

}  // namespace polyad
