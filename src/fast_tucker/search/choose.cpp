// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/search/candidate.hpp"
#include "fast_tucker/search/held_out.hpp"
#include "fast_tucker/search/judgement.hpp"
#include "fast_tucker/search/last_times.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "fast_tucker/search/sample_rows.hpp"
#include "fast_tucker/search/search_watch.hpp"
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
/// The least gain over mean and biases, in standard errors of the gain. On the entries that chose among the
/// candidates a smaller gain may be chance, since it is that of the best of many. Entries that chose nothing
/// need less.
constexpr double least_gain_of_chosen = 3, least_gain = 2.1;
/// A search whose held-out entries are fewer is judged again on other parts of the entries, with fits of its
/// options to the rest. They take this many epochs with these options.
constexpr count_t enough_judged = 4000;
constexpr int epochs_of_judged  = 16;
/// Where a class of rows gains, but not clearly, other parts judge it even if enough entries are held out for
/// the whole. More held-out entries than these judge alone.
constexpr count_t most_judged_again  = 10000;
constexpr std::size_t least_of_class = 100;
/// A search takes finer times in so many steps. Of powers of two bins are the same in both.
constexpr count_t most_steps_of_time = 1024;
/// A change that adds a mode needs a larger fall of the held-out error than min_gain.
constexpr double min_gain_per_mode = 3e-3;

double share_held_out(count_t nnz) {
  auto const entries = static_cast<double>(nnz);
  return std::min(std::clamp(wanted / entries, usual_share, largest_share), std::max(most, 1.0) / entries);
}

/// Modes in the order in which they are left out of the product: the shortest first.
/// \param before  a mode that comes before all others, or -1
std::vector<int> shortest_first(Extents const& extents, int before = -1) {
  std::vector<int> modes(static_cast<std::size_t>(extents.order()));
  std::iota(modes.begin(), modes.end(), 0);
  std::stable_sort(modes.begin(), modes.end(), [&](int m, int n) {
    return m == before || n == before ? m == before && n != before : extents[m] < extents[n];
  });
  return modes;
}

/// The search: each step changes one thing of the best options so far.
template <class Scalar, class Index, class Space>
class Search {
public:
  /// \param fine_time  the mode of time, if its times have too few entries for the product; or -1
  Search(Space const& space, Evidence<Scalar, Index, Space> const& evidence, FastTuckerOptions const& options,
         int fine_time, SearchWatch& watch)
      : m_space(space),
        m_evidence(evidence),
        m_options(options),
        m_fine_time(options.columns.size() > 2 ? fine_time : -1),
        m_watch(watch) {}

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
  /// Null where the search ended before the first epochs of its first candidate.
  [[nodiscard]] Run* best() { return m_best.get(); }
  /// Predictions of the held-out entries by the best candidate, after the epochs that follow the search. The
  /// least error of any epoch would be biased: a fit that overfits may briefly come close to the biases.
  /// If the search ended early, those of the best epoch so far.
  [[nodiscard]] std::vector<double> predictions(bool ended_early) {
    if (!ended_early) return m_predictions;
    m_best->restore();
    return m_best->predictions();
  }
  [[nodiscard]] int candidates() const { return m_candidates; }
  /// The epochs that follow with all entries.
  [[nodiscard]] int epochs() const { return m_epochs; }

private:
  static constexpr int first_epochs = 6;  // after a start: planted ratings are learned in five or six
  static constexpr int most_epochs  = 16;
  static constexpr int more_epochs  = 6;  // after a change, at most
  static_assert(more_epochs == last_epochs);

  void count_candidate() {
    m_watch.state.candidates = ++m_candidates;
    if (m_best) m_watch.state.model = m_best->least();
  }
  /// If the search ends within the first candidate, the best of the epochs so far counts.
  std::unique_ptr<Run> start(FastTuckerOptions const& options, int least, int most) {
    count_candidate();
    auto run = std::make_unique<Run>(m_space, m_evidence, options);
    try {
      run->continue_run(options, least, at_most(most));
    } catch (SearchStopped const&) {
      if (!m_best && run->has_best()) m_best = std::move(run);
      throw;
    }
    return run;
  }
  /// No candidate has more epochs at a time than the run may have.
  [[nodiscard]] int at_most(int epochs) const { return std::min(epochs, m_options.max_epochs); }
  /// Continues from the best model. Returns whether the error fell by at least that share.
  bool improves(FastTuckerOptions const& options, double share = min_gain, int least = 2) {
    count_candidate();
    m_best->restore();
    double const before = m_best->least().rmse;
    auto const previous = m_best->best();
    m_best->continue_run(options, least, at_most(more_epochs));
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
      leave_out_fine_time(small);
      m_best = start(small, first_epochs, first_epochs);
      // Time says least about an interaction, and finely divided it is the longest mode.
      auto const modes = shortest_first(m_evidence.X.extents(), m_options.bias.time_mode);
      for (std::size_t left_out = m_fine_time >= 0 ? 1 : 0; left_out + 2 < modes.size(); ++left_out) {
        small.targets[static_cast<std::size_t>(modes[left_out])] = RowTarget::left_out;
        auto other                                               = start(small, first_epochs, first_epochs);
        if (other->least().rmse < m_best->least().rmse * (1 + min_gain_per_mode)) m_best = std::move(other);
      }
      options.targets = m_best->best().targets;
      if (small.rank == options.rank) {
        m_best->restore();
        m_best->continue_run(m_best->best(), 2, at_most(most_epochs - first_epochs));
        return;
      }
    }
    m_best = start(options, first_epochs, most_epochs);
  }

  void leave_out_fine_time(FastTuckerOptions& options) const {
    if (m_fine_time >= 0) options.targets[m_fine_time] = RowTarget::left_out;
  }

  /// Weakens the shrinkage until the error rises. If the first step does not help, tries stronger shrinkage.
  void walk_shrinkage() {
    auto const step = [&](double factor) {
      auto next = options();
      next.shrinkage->observations *= factor;
      return improves(next, factor < 1 ? min_gain : min_gain_per_mode);
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
    if (improves(next, min_gain_per_mode, 4)) walk_shrinkage();
  }

  /// Tries the modes that were left out again, with rows drawn to one: strongly at first, then more weakly.
  void draw_to_one() {
    auto next = options();
    if (!m_options.targets.empty()) return;
    std::replace(next.targets.begin(), next.targets.end(), RowTarget::left_out, RowTarget::one);
    leave_out_fine_time(next);
    if (std::find(next.targets.begin(), next.targets.end(), RowTarget::one) == next.targets.end()) return;
    next.shrinkage->to_one = 1000;
    if (!improves(next, min_gain_per_mode, 4)) return;
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
      double after        = m_best->continue_run(now, more_epochs, at_most(more_epochs)).rmse;
      m_predictions       = m_best->predictions();
      if (after <= before * (1 + min_gain) || m_previous.empty()) {
        continue_while_better(now, before, after);
        return;
      }
      auto previous    = m_previous.back();
      previous.rank    = now.rank;
      previous.columns = now.columns;
      m_previous.pop_back();
      if (!(m_best->continue_run(previous, more_epochs, at_most(more_epochs)).rmse < after)) {
        m_best->recall(now);
        return;
      }
      m_predictions = m_best->predictions();
      m_best->forget();
      m_best->continue_run(previous, 2, 2);
    }
  }

  /// More epochs, if the error still falls much in the ones before, as it does with little noise. Sets how
  /// many there will be with all entries.
  void continue_while_better(FastTuckerOptions const& options, double before, double after) {
    constexpr double worth_epochs = 0.02;
    while (after < before * (1 - worth_epochs) && m_epochs < m_options.max_epochs) {
      int const more = std::min(more_epochs, m_options.max_epochs - m_epochs);
      before         = after;
      after          = m_best->continue_run(options, more, more).rmse;
      if (!(after < before)) return;
      m_predictions = m_best->predictions();
      m_epochs += more;
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
    if (!improves(next, min_gain, 4)) return;
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
      bool const better = other->least().rmse < m_best->least().rmse * (1 - min_gain);
      if (!better) return;
      m_best = std::move(other);
    }
  }

  Space m_space;
  Evidence<Scalar, Index, Space> const& m_evidence;
  FastTuckerOptions m_options;
  int m_fine_time;
  SearchWatch& m_watch;
  std::unique_ptr<Run> m_best;
  std::vector<FastTuckerOptions> m_previous;  // the best before, and those before it
  std::vector<double> m_predictions;
  int m_candidates = 0;
  int m_epochs     = last_epochs;
};

/// Held-out entries with two predictions of each, without their classes and repeats. Waits for `space`.
/// \throws MemoryError
template <class Scalar, class Index, class Space>
JudgedEntries judged_entries(Space const& space, CooTensor<Scalar, Index, Space> const& held,
                             std::vector<double> const& biases, std::vector<double> const& model) {
  JudgedEntries entries;
  entries.order      = held.order();
  entries.values     = numbers_on_host(space, held.values());
  entries.biases     = biases;
  entries.model      = model;
  auto const indices = Kokkos::create_mirror_view(held.indices());
  Kokkos::deep_copy(space, indices, held.indices());
  space.fence("polyad::judged_entries");
  entries.rows.assign(indices.data(), indices.data() + indices.size());
  return entries;
}

/// The times up to the last one with an entry. \throws MemoryError
template <class Scalar, class Index, class Space>
count_t seen_times_of(Space const& space, TrainingSet<Scalar, Index, Space> const& X, int time_mode) {
  return seen_times(space, X, time_mode, RowDistribution<Scalar, Space>(space, X.extents()));
}

/// Chooses the damping of the biases, which modes' biases drift, in how many bins, and with which damping.
/// The least held-out error of mean and biases alone decides. Of drifts it takes one mode after the other,
/// the longest last: first the bins, then the damping.
template <class Scalar, class Index, class Space>
class BiasSearch {
public:
  BiasSearch(Space const& space, TrainingSet<Scalar, Index, Space> const& kept,
             CooTensor<Scalar, Index, Space> const& held, BiasOptions const& options,
             FastTuckerModel<Scalar, Space> const& biases, std::function<void()> const& between)
      : m_space(space),
        m_kept(kept),
        m_times(options.time_mode < 0 ? 0 : seen_times_of(space, kept, options.time_mode)),
        m_held(held),
        m_sums(make_error_sums(space, held.nnz())),
        m_model(biases),
        m_nothing(make_intermediates(space, biases)),
        m_between(between),
        m_best(options) {
    m_best.sweeps = std::min(options.sweeps, few_sweeps);
    if (m_best.time_mode >= 0 && m_best.drift.empty())
      m_best.drift.assign(static_cast<std::size_t>(kept.order()), BiasDrift{});
    m_least = error(m_best);
  }

  /// From the damping of the options up or down by steps, while the error falls.
  void choose_damping() {
    constexpr double least = 0.5, most = 50, step = 1.58489319246111348;  // five steps are a factor of ten
    constexpr double worth_a_step = 1e-4;
    for (double const factor : {1 / step, step}) {
      double const begin = m_best.damping;
      for (double damping = begin * factor; damping >= 0.99 * least && damping <= 1.01 * most;
           damping *= factor) {
        auto options        = m_best;
        options.damping     = damping;
        double const found  = error(options);
        bool const is_worse = !(found < m_least * (1 - worth_a_step));
        if (is_worse) break;
        m_best  = options;
        m_least = found;
      }
      if (m_best.damping != begin) return;
    }
  }
  /// A bias for each time, or one for each of some bins: whether days or seconds are counted must not decide.
  /// Before the damping is chosen: biases of single times would ask for the damping of noise.
  /// \param strictly  whether bins have to gain more than chance, for another draw of times, too: they change
  ///                  the biases of all rows, and nothing shows what that does at times without entries
  void choose_bins_of_time(bool strictly) {
    count_t const times         = m_kept.extents()[m_best.time_mode];
    constexpr double worth_bins = 0.01;
    for (count_t const bins : {1, 4, 16, 64, 256}) {
      if (bins >= times) break;
      auto options                         = m_best;
      options.drift[m_best.time_mode].bins = bins;
      double const found                   = error(options);
      double const most                    = strictly ? m_least * (1 - worth_bins) : m_least;
      if (!(found < most) || (strictly && !(gain_over_best(options, true) > least_gain_of_chosen))) continue;
      m_best  = options;
      m_least = found;
    }
  }

  /// How fast drifts fade out after the last time with entries, which is what the damping of the mode of time
  /// says. By default they end at once, and biases of later times are those that do not drift. A slower
  /// fading has to predict the latest entries better by fits to the entries before, for several ends of
  /// these: an end may come right before a change.
  void choose_fading(CooTensor<Scalar, Index, Space> const& all) {
    int const time = m_best.time_mode;
    bool drifts    = false;
    for (int n = 0; n < m_kept.order(); ++n) drifts = drifts || (n != time && m_best.drift[n].bins > 0);
    for (double const fade : {3., 0.3}) {
      auto slower                = m_best;
      slower.drift[time].damping = fade;
      for (double const share : {0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4})
        if (!drifts || !is_better_for_last_times(all, share, slower)) return;
      m_best = slower;
    }
  }

  [[nodiscard]] BiasOptions const& best() const { return m_best; }

  void choose_drift() {
    for (int const n : shortest_first(m_kept.extents())) {
      count_t const most = most_bins(m_kept.extents(), m_kept.nnz(), n, m_best.time_mode);
      auto best          = m_best;
      double least       = m_least;
      auto const better  = [&](BiasDrift const& drift, double share = 0) {
        auto options                               = best;
        options.drift[static_cast<std::size_t>(n)] = drift;
        double const found                         = error(options);
        if (!(found < least * (1 - share))) return false;
        best  = options;
        least = found;
        return true;
      };
      for (count_t bins : {2, 4, 16, 64, 256, 1024})
        if (bins == 2 || bins / 4 < most)
          static_cast<void>(better({std::min<count_t>(bins, most), BiasDrift{}.damping}));
      BiasDrift const found = best.drift[static_cast<std::size_t>(n)];
      for (double const factor : {1. / 3, 3.}) {
        double damping = found.damping * factor;
        while (found.bins > 0 && better({found.bins, damping}, worth_damping) && damping < 1000 &&
               damping > 0.2)
          damping *= factor;
        if (best.drift[static_cast<std::size_t>(n)].damping != found.damping) break;
      }
      // Two bins fit any trend of the noise.
      bool const are_two = best.drift[n].bins == 2;
      if (least < m_least * (1 - (are_two ? 0.01 : worth_a_drift)) &&
          gain_over_best(best) > least_gain_of_drift) {
        m_best  = best;
        m_least = least;
      }
    }
  }

private:
  static constexpr int few_sweeps = 4;  // enough to tell candidates apart
  /// Falls of the held-out error. Below that, one more step of a damping follows the noise.
  static constexpr double worth_a_drift = 5e-4, worth_damping = 3e-4;
  /// The least gain of a drift in standard errors (judgement.hpp). It is the best of about ten candidates.
  static constexpr double least_gain_of_drift = 2;

  /// By how much these biases predict the held-out entries better than the best biases so far (gain_of_held).
  double gain_over_best(BiasOptions const& options, bool times_count = false) {
    return gain_of_held(m_held, predictions(m_best), predictions(options), times_count);
  }
  /// Whether they predict the latest entries better, by fits to those before. False if there are too few
  /// entries.
  bool is_better_for_last_times(CooTensor<Scalar, Index, Space> const& all, double share,
                                BiasOptions const& options) {
    auto const cut = begin_of_last_times(m_space, all, options.time_mode, share);
    if (!cut) return false;
    TrainingSet<Scalar, Index, Space> const early(
        entries_at_times(m_space, all, options.time_mode, *cut, false));
    auto const late = entries_at_times(m_space, all, options.time_mode, *cut, true);
    if (late.nnz() < least_held_out || early.nnz() == 0) return false;
    count_t const times = seen_times_of(m_space, early, options.time_mode);
    auto const by       = [&](BiasOptions const& biases) {
      fit(biases, early, times);
      return numbers_on_host(m_space, predict(m_space, m_model, late));
    };
    auto const by_best = by(m_best);
    return gain_of_held(late, by_best, by(options), false) > least_gain_of_chosen;
  }
  /// The gain of the second predictions over the first ones in standard errors for another draw of rows, and
  /// of times if these count.
  double gain_of_held(CooTensor<Scalar, Index, Space> const& held, std::vector<double> const& first,
                      std::vector<double> const& second, bool times_count) const {
    auto const entries = judged_entries(m_space, held, first, second);
    std::vector<int> modes;
    for (int n = 0; n < entries.order; ++n)
      if (times_count || n != m_best.time_mode) modes.push_back(n);
    return gain_of(entries, modes, [](std::size_t) { return true; }).in_errors();
  }
  std::vector<double> predictions(BiasOptions const& options) {
    fit(options, m_kept, m_times);
    return numbers_on_host(m_space, predict(m_space, m_model, m_held));
  }

  double error(BiasOptions const& options) {
    fit(options, m_kept, m_times);
    return polyad::errors(m_space, m_model, m_nothing, m_held, m_sums).rmse;
  }
  /// \param times  that the entries have, which is the same for all candidates
  void fit(BiasOptions const& options, TrainingSet<Scalar, Index, Space> const& kept, count_t times) {
    fit_biases(m_space, kept, options, m_model, RowDistribution<Scalar, Space>(m_space, kept.extents()),
               m_between, times);
  }

  Space m_space;
  TrainingSet<Scalar, Index, Space> m_kept;
  count_t m_times;
  CooTensor<Scalar, Index, Space> m_held;
  ErrorSums<Space> m_sums;
  FastTuckerModel<Scalar, Space> m_model;  // its biases are fitted anew for each candidate
  FactorMatrices<Scalar, Space> m_nothing;
  std::function<void()> m_between;
  BiasOptions m_best;
  double m_least = 0;
};

template <class Scalar, class Index, class Space>
double squares_of(Space const& space, TrainingSet<Scalar, Index, Space> const& X) {
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

/// Mean and biases of the entries that are kept.
template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> model_of_biases(Space const& space,
                                               TrainingSet<Scalar, Index, Space> const& kept,
                                               FastTuckerOptions const& options) {
  std::vector<count_t> const one_column(static_cast<std::size_t>(kept.order()), 1);
  FastTuckerModel<Scalar, Space> biases(space, kept.extents(), one_column, 1, options.biases);
  biases.range = {options.range.lowest, options.range.highest};
  return biases;
}

/// Whether there are times after the last one with an entry. \param time_mode  -1: none
template <class Scalar, class Index, class Space>
bool has_later_times(Space const& space, TrainingSet<Scalar, Index, Space> const& X, int time_mode) {
  return time_mode >= 0 && seen_times_of(space, X, time_mode) < X.extents()[time_mode];
}

/// Chooses the damping of the biases and their drift, as far as the options leave them open.
/// \param all   the kept and the held-out entries; unless they are in host memory, the latest ones show how
///              drifts end
/// \param bias  gets what is chosen
template <class Scalar, class Index, class Space>
void choose_biases(Space const& space, TrainingSet<Scalar, Index, Space> const& all,
                   TrainingSet<Scalar, Index, Space> const& kept, CooTensor<Scalar, Index, Space> const& held,
                   FastTuckerOptions const& options, std::function<void()> const& between,
                   BiasOptions& bias) {
  bool const drifts = bias.time_mode >= 0 && bias.drift.empty();
  bool const damped = bias.damping == BiasOptions{}.damping;
  if (!options.biases || !(drifts || damped)) return;
  BiasSearch<Scalar, Index, Space> search(space, kept, held, bias,
                                          model_of_biases<Scalar>(space, kept, options), between);
  auto const take = [&] {
    bias.damping = search.best().damping;
    if (drifts) bias.drift = search.best().drift;
  };
  try {
    bool const is_later = drifts && has_later_times(space, all, bias.time_mode);
    if (drifts) search.choose_bins_of_time(is_later);
    if (damped) search.choose_damping();
    if (drifts) search.choose_drift();
    if (is_later && !all.on_host()) search.choose_fading(all.tensor());
  } catch (SearchStopped const&) {
    take();
    throw;
  }
  take();
}

/// One part of the entries to fit to, and another one to judge by.
template <class Scalar, class Index, class Space>
class Judges {
public:
  using Parts = decltype(detail::hold_out(std::declval<Space>(),
                                          std::declval<TrainingSet<Scalar, Index, Space> const&>(), 0.5));

  Judges(Space const& space, TrainingSet<Scalar, Index, Space> const& train, double share, int fold)
      : m_space(space), m_parts(detail::hold_out(space, train, share, fold)) {}
  /// The entries before a time, and those from it on.
  Judges(Space const& space, CooTensor<Scalar, Index, Space> const& train, int time_mode, count_t cut)
      : m_space(space),
        m_parts{TrainingSet<Scalar, Index, Space>(entries_at_times(space, train, time_mode, cut, false)),
                entries_at_times(space, train, time_mode, cut, true),
                {}} {
    m_parts.repeats = RepeatFlags<Space>("polyad::held_repeats", held().nnz());
  }

  [[nodiscard]] TrainingSet<Scalar, Index, Space> const& kept() const { return m_parts.kept; }
  [[nodiscard]] CooTensor<Scalar, Index, Space> const& held() const { return m_parts.held; }
  [[nodiscard]] bool are_enough() const { return held().nnz() >= least_held_out && kept().nnz() > 0; }

  /// The held-out entries with two predictions of each. \throws MemoryError
  [[nodiscard]] JudgedEntries judged(std::vector<double> const& biases,
                                     std::vector<double> const& model) const {
    auto entries       = judged_entries(m_space, held(), biases, model);
    auto const repeats = Kokkos::create_mirror_view(m_parts.repeats);
    Kokkos::deep_copy(m_space, repeats, m_parts.repeats);
    m_space.fence("polyad::judged_entries");
    entries.repeats.assign(repeats.data(), repeats.data() + repeats.size());
    entries.classes.resize(entries.rows.size());
    entries.classes_with_held.resize(entries.rows.size());
    RowDistribution<Scalar, Space> const rows(m_space, kept().extents());
    for (int n = 0; n < entries.order; ++n) {
      auto const counts = numbers_on_host(m_space, entries_of_rows(m_space, kept(), n, rows));
      auto const others = numbers_on_host(
          m_space, entries_of_rows(m_space, TrainingSet<Scalar, Index, Space>(held()), n, rows));
      for (std::size_t p = 0; p < entries.size(); ++p) {
        auto const at                 = entries.at(p, n);
        auto const count              = static_cast<count_t>(counts[entries.rows[at]]);
        auto const all                = count + static_cast<count_t>(others[entries.rows[at]]);
        entries.classes[at]           = static_cast<std::int8_t>(count == 0 ? -1 : class_of_row(count));
        entries.classes_with_held[at] = static_cast<std::int8_t>(count == 0 ? -1 : class_of_row(all));
      }
    }
    return entries;
  }

private:
  Space m_space;
  Parts m_parts;
};

/// Fits the chosen options to the rest of another part of the entries, which it then judges.
template <class Scalar, class Index, class Space>
JudgedEntries judged_again(Space const& space, Judges<Scalar, Index, Space> const& judges,
                           FastTuckerOptions const& options, AnyFormatOptions const& format,
                           std::function<void()> const& between) {
  auto biases = model_of_biases<Scalar>(space, judges.kept(), options);
  if (options.biases)
    fit_biases(space, judges.kept(), options.bias, biases,
               RowDistribution<Scalar, Space>(space, judges.kept().extents()), between);
  Evidence<Scalar, Index, Space> evidence{
      interactions(space, judges.kept(), biases, asked_of(format, options)),
      judges.held(),
      biases,
      make_error_sums(space, judges.held().nnz()),
      0,
      between};
  evidence.deviation = std::sqrt(evidence.X.norm_squared() / static_cast<double>(judges.kept().nnz()));
  CandidateRun<Scalar, Index, Space> run(space, evidence, options);
  run.fit(std::min(epochs_of_judged, std::max(options.max_epochs, 1)));
  return judges.judged(numbers_on_host(space, predict(space, biases, judges.held())), run.predictions());
}

/// Draws the rows more strongly to zero. Three times the best ridge would leave none.
void shrink_more(FastTuckerOptions& options) {
  if (options.ridge)
    *options.ridge *= 1.25;
  else
    options.shrinkage->observations *= 3;
}

/// Parts that chose nothing, one after the other. \param again  as in decide
template <class Again>
JudgedEntries judged_parts(int parts, Again const& again) {
  JudgedEntries others;
  for (int fold = 1; fold <= parts; ++fold) others.append(again(fold));
  return others;
}

/// If a model gains, but only where places occur again, and does harm at new ones, this draws its rows more
/// strongly to zero. A smaller interaction loses less of the gain than of the harm: if it has a factor s, the
/// gain is linear in s at first, and the harm quadratic.
/// \param judgement  that of parts that chose nothing
/// \param parts      their number
template <class Choice, class Again>
Judgement spare_new_places(Judgement const& judgement, int parts, Again const& again, Choice& choice) {
  constexpr int most_steps = 3;
  auto const is_harmful    = [](Judgement const& of) {
    return of.harms_new_places && is_gain(of.gain, least_gain);
  };
  if (!is_harmful(judgement)) return judgement;
  auto const given = choice.options;
  auto now         = judgement;
  for (int step = 0; step < most_steps && is_harmful(now); ++step) {
    shrink_more(choice.options);
    now = judge(judged_parts(parts, again), given.bias.time_mode);
  }
  if (!now.harms_new_places && is_gain(now.gain, least_gain)) {
    choice.model = errors_of_model(again(0));
    return now;
  }
  choice.options = given;
  return judgement;
}

/// Entries of parts that chose nothing.
struct OtherParts {
  JudgedEntries entries;
  int parts = 0;
};

/// As many parts as are needed to judge. The parameters are those of decide.
/// \param time  the mode of time; -1: none
template <class Again>
OtherParts other_parts(JudgedEntries const& first, count_t all, int time, Again const& again) {
  constexpr int most_parts = 5;
  OtherParts others;
  auto const needs_more = [&] {
    count_t const judged = first.size() + others.entries.size();
    if (judged < std::min<count_t>(enough_judged, all)) return true;
    if (others.parts == 0 && judge(first, time).harms_new_places) return true;
    return first.size() < most_judged_again &&
           is_undecided(judge(others.parts > 0 ? others.entries : first, time), least_of_class);
  };
  for (int fold = 1;
       fold < most_parts && static_cast<std::size_t>(fold + 1) * first.size() <= all + first.size() / 2 &&
       needs_more();
       ++fold) {
    auto const more = again(fold);
    if (more.size() == 0) break;
    others.entries.append(more);
    ++others.parts;
  }
  return others;
}

/// Decides whether the best candidate is better than mean and biases, and for which rows.
/// \param first  the entries that chose it
/// \param again  judges another part, or returns no entries; part 0 is `first`; it may throw SearchStopped
template <class Choice, class Again>
void decide(JudgedEntries const& first, count_t all, Again const& again, Choice& choice,
            std::vector<std::uint64_t>& classes) {
  auto const options  = choice.options;
  int const time      = options.bias.time_mode;
  auto const accepted = [&](Judgement const& judgement, double least) {
    bool const learns = is_gain(judgement.gain, least) && !judgement.harms_new_places;
    choice.learns     = learns;
    choice.classes    = judgement.by_class;
    classes           = learns ? judgement.classes : std::vector<std::uint64_t>();
  };
  try {
    auto const [others, parts] = other_parts(first, all, time, again);
    // The model that continues is the one that `first` judges. It may be worse than a fit from a random
    // start.
    bool const gains = gain_of(first, {}, [](std::size_t) { return true; }).sum > 0;
    if (others.size() >= first.size() && gains) {
      accepted(spare_new_places(judge(others, time), parts, again, choice), least_gain);
      if (choice.learns) return;
    }
  } catch (SearchStopped const& stopped) {
    choice.reason  = stopped.reason;
    choice.options = options;
  }
  accepted(judge(first, time), least_gain_of_chosen);
}

/// A choice among what the options leave open, for values near 1.
template <class Scalar, class Index, class Space>
class Choosing {
public:
  using Choice = FastTuckerChoice<Scalar, Space>;

  /// \param chooses_ridge  whether the search may take a ridge
  /// \param fine_time      as in Search
  Choosing(Space const& space, TrainingSet<Scalar, Index, Space> const& train,
           FastTuckerOptions const& options, AnyFormatOptions const& format, bool chooses_ridge,
           int fine_time, SearchWatch& watch)
      : m_space(space),
        m_train(train),
        m_options(options),
        m_format(format),
        m_chooses_ridge(chooses_ridge),
        m_fine_time(fine_time),
        m_watch(watch),
        m_choice(choice_of_biases<Scalar, Space>(options, train.order())) {
    m_between               = [this] { m_watch.check(m_space); };
    m_format.hooks.progress = [this, own = format.hooks.progress](char const* step) {
      m_between();
      if (own) own(step);
    };
  }
  Choosing(Choosing const&)            = delete;
  Choosing& operator=(Choosing const&) = delete;

  /// Called once.
  [[nodiscard]] Choice run() {
    if (m_options.max_epochs == 0) {
      m_choice.reason = StopReason::max_iterations;
      leave_drift_out();
    } else {
      choose();
    }
    m_choice.seconds = m_watch.seconds();
    return std::move(m_choice);
  }

private:
  void choose() {
    m_judges.emplace(m_space, m_train, share_held_out(m_train.nnz()), 0);
    if (!m_judges->are_enough() || !chooses_biases()) return leave_drift_out();
    fit_chosen_biases();
    m_choice.model = m_choice.biases;
    if (gathers_evidence() && finds_candidate()) judge_best();
  }

  /// There is no evidence of drift.
  void leave_drift_out() {
    auto& bias = m_choice.options.bias;
    if (bias.drift.empty() && bias.time_mode >= 0) bias.drift.resize(m_choice.options.targets.size());
  }

  /// Whether the search for biases came to its end.
  bool chooses_biases() {
    try {
      choose_biases(m_space, m_train, m_judges->kept(), m_judges->held(), m_options, m_between,
                    m_choice.options.bias);
      return true;
    } catch (SearchStopped const& stopped) {
      m_choice.reason = stopped.reason;
      return false;
    }
  }

  void fit_chosen_biases() {
    auto const& kept = m_judges->kept();
    m_biases.emplace(model_of_biases<Scalar>(m_space, kept, m_options));
    if (m_options.biases)
      fit_biases(m_space, kept, m_choice.options.bias, *m_biases,
                 RowDistribution<Scalar, Space>(m_space, kept.extents()));
    m_sums               = make_error_sums(m_space, m_judges->held().nnz());
    auto const nothing   = make_intermediates(m_space, *m_biases);  // its factors are zero
    m_choice.biases      = errors(m_space, *m_biases, nothing, m_judges->held(), m_sums);
    m_watch.state.biases = m_choice.biases;
  }

  /// Whether the biases leave something to explain.
  bool gathers_evidence() {
    auto const& kept = m_judges->kept();
    m_searched       = with_shape(m_options, m_train.order());
    m_searched.bias  = m_choice.options.bias;
    try {
      m_evidence.emplace(Evidence<Scalar, Index, Space>{
          interactions(m_space, kept, *m_biases, asked_of(m_format, m_searched)), m_judges->held(), *m_biases,
          m_sums, 0, m_between});
    } catch (SearchStopped const& stopped) {
      m_choice.reason = stopped.reason;
      return false;
    }
    double const squares  = m_evidence->X.norm_squared();
    m_evidence->deviation = std::sqrt(squares / static_cast<double>(kept.nnz()));
    // If the biases explain everything, the remainder is rounding. A value and the biases that are subtracted
    // from it are each rounded by half a unit of the last digit at most.
    constexpr double rounding =
        (sizeof(Scalar) == 4 ? 8 : 64) * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
    return squares > rounding * rounding * squares_of(m_space, kept);
  }

  /// Whether at least one candidate was evaluated.
  bool finds_candidate() {
    m_search.emplace(m_space, *m_evidence, m_searched, m_fine_time, m_watch);
    try {
      m_search->run(leaves_rank(m_options), m_chooses_ridge);
    } catch (SearchStopped const& stopped) {
      m_choice.reason = stopped.reason;
      m_ended_early   = true;
    }
    m_choice.candidates = m_search->candidates();
    return m_search->best() != nullptr;
  }

  void judge_best() {
    auto* const best       = m_search->best();
    auto const predictions = m_search->predictions(m_ended_early);
    best->restore();
    if (!best->has_best())
      throw NumericalError("no candidate's error is a finite number: scale the values, or take doubles");
    auto const bias             = m_choice.options.bias;
    m_choice.options            = best->best();
    m_choice.options.bias       = bias;
    m_choice.options.max_epochs = std::min(m_options.max_epochs, m_search->epochs());
    m_choice.start              = best->model();
    m_choice.model              = best->least();
    m_search.reset();  // fits to other parts take its memory
    m_evidence.reset();
    auto const of_biases = numbers_on_host(m_space, predict(m_space, *m_biases, m_judges->held()));
    decide(
        m_judges->judged(of_biases, predictions), m_train.nnz(), [this](int fold) { return again(fold); },
        m_choice, m_choice.left_to_biases);
    if (!m_choice.learns) return;
    leave_classes_of_few_rows();
    if (has_later_times(m_space, m_train, bias.time_mode)) judge_later_times();
  }

  /// Leaves classes that have few rows if all entries count, and a small part of these, to mean and biases,
  /// unless the model explains the class. Most rows that were judged in such a class belong to the next one
  /// with the entries that were held out.
  void leave_classes_of_few_rows() {
    RowDistribution<Scalar, Space> const rows(m_space, m_train.extents());
    auto& left = m_choice.left_to_biases;
    left.resize(static_cast<std::size_t>(m_train.order()));
    for (int n = 0; n < m_train.order(); ++n) {
      if (n == m_choice.options.bias.time_mode) continue;
      auto few = classes_of_few_rows(numbers_on_host(m_space, entries_of_rows(m_space, m_train, n, rows)));
      for (auto& of_class : m_choice.classes) {
        auto const bit = std::uint64_t(1) << class_of_row(of_class.least);
        if (of_class.mode != n || (few & bit) == 0) continue;
        if (explains(of_class))
          few &= ~bit;
        else
          of_class.learns = false;
      }
      left[n] |= few;
    }
  }

  /// Times after the last one with entries are left to mean and biases, unless the model is better for the
  /// latest entries, too.
  void judge_later_times() {
    bool is_better = false;
    try {
      is_better = !m_ended_early && !m_train.on_host() && gains_for_last_times();
    } catch (SearchStopped const& stopped) {
      m_choice.reason = stopped.reason;
    }
    if (is_better) return;
    auto& left = m_choice.left_to_biases;
    left.resize(static_cast<std::size_t>(m_train.order()));
    left[m_choice.options.bias.time_mode] |= std::uint64_t(1) << later_rows;
  }
  /// By a fit to the entries before.
  [[nodiscard]] bool gains_for_last_times() {
    constexpr double share_of_latest = 0.2;
    int const time                   = m_choice.options.bias.time_mode;
    auto const cut                   = begin_of_last_times(m_space, m_train.tensor(), time, share_of_latest);
    if (!cut) return false;
    Judges<Scalar, Index, Space> const latest(m_space, m_train.tensor(), time, *cut);
    return latest.are_enough() &&
           is_gain(gain_without(judged_by(latest), m_choice.left_to_biases, time), least_gain_of_chosen);
  }

  /// Another part of the entries, judged by a fit to the rest; no entries if there is no such part.
  [[nodiscard]] JudgedEntries again(int fold) {
    if (m_ended_early) return {};
    Judges<Scalar, Index, Space> const others(m_space, m_train, share_held_out(m_train.nnz()), fold);
    return others.are_enough() ? judged_by(others) : JudgedEntries();
  }
  [[nodiscard]] JudgedEntries judged_by(Judges<Scalar, Index, Space> const& others) {
    auto with       = m_choice.options;
    with.max_epochs = m_options.max_epochs;
    return judged_again(m_space, others, with, m_format, m_between);
  }

  Space m_space;
  TrainingSet<Scalar, Index, Space> const& m_train;
  FastTuckerOptions const& m_options;
  AnyFormatOptions m_format;
  bool m_chooses_ridge;
  int m_fine_time;
  SearchWatch& m_watch;
  std::function<void()> m_between;
  Choice m_choice;
  bool m_ended_early = false;

  std::optional<Judges<Scalar, Index, Space>> m_judges;
  std::optional<FastTuckerModel<Scalar, Space>> m_biases;
  ErrorSums<Space> m_sums;
  FastTuckerOptions m_searched;
  std::optional<Evidence<Scalar, Index, Space>> m_evidence;
  std::optional<Search<Scalar, Index, Space>> m_search;
};

template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_as_they_are(Space const& space,
                                                   TrainingSet<Scalar, Index, Space> const& train,
                                                   FastTuckerOptions const& options,
                                                   AnyFormatOptions const& format, bool chooses_ridge,
                                                   SearchWatch& watch) {
  int const time    = options.bias.time_mode;
  bool const coarse = time >= 0 && !train.on_host() && train.extents()[time] > most_steps_of_time;
  if (!coarse)
    return Choosing<Scalar, Index, Space>(space, train, options, format, chooses_ridge, -1, watch).run();
  TrainingSet<Scalar, Index, Space> const in_steps(
      with_coarse_times(space, train.tensor(), time, most_steps_of_time));
  auto choice =
      Choosing<Scalar, Index, Space>(space, in_steps, options, format, chooses_ridge, time, watch).run();
  if (choice.start.order() > 0) choice.start = with_fine_times(space, choice.start, time, train.extents());
  // Each step had a bias. A bias for each time would follow the noise.
  auto& drift = choice.options.bias.drift;
  if (options.bias.drift.empty() && !drift.empty() && drift[time].bins == 0)
    drift[time].bins = most_steps_of_time;
  return choice;
}

/// The same for values of any scale.
template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_of_any_scale(Space const& space,
                                                    TrainingSet<Scalar, Index, Space> const& train,
                                                    FastTuckerOptions const& options,
                                                    AnyFormatOptions const& format, SearchWatch& watch) {
  double const factor = detail::value_scale(space, train, options, RunRanks());
  if (factor == 1) return choose_as_they_are(space, train, options, format, true, watch);
  auto inner = options;
  inner.range.lowest *= factor;
  inner.range.highest *= factor;
  auto choice = choose_as_they_are(space, detail::scaled(space, train, factor), inner, format, false, watch);
  choice.options.range = options.range;
  std::vector<PredictionErrors*> scaled{&choice.biases, &choice.model};
  for (auto& of_class : choice.classes) {
    scaled.push_back(&of_class.biases);
    scaled.push_back(&of_class.model);
  }
  for (auto* errors : scaled) {
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
FastTuckerChoice<Scalar, Space> detail::choose(Space const& space,
                                               TrainingSet<Scalar, Index, Space> const& all,
                                               FastTuckerOptions const& options,
                                               AnyFormatOptions const& format,
                                               NonzeroDistribution<Scalar, Index, Space> const& rows,
                                               count_t most, FastTuckerSearchCallback const& on_search) {
  POLYAD_EXPECTS(leaves_choice(options), "the options leave nothing to choose");
  SearchWatch watch(options.time_limit_s, on_search);
  // Drifts have a number for each row and bin. The rows of a sample have too few entries for them.
  bool const drifts       = options.bias.time_mode >= 0;
  auto const of_all_ranks = [&](count_t entries) { return rows.sum_on_host(std::uint64_t(entries)); };
  RowSample const sampled = drifts ? RowSample{} : row_sample(all.extents(), of_all_ranks(all.nnz()), most);
  auto train              = all;
  if (sampled.share < 1)
    train = rows.together([&] { return sample_rows(space, all, sampled.mode, sampled.share); });
  if (of_all_ranks(train.nnz()) < most / 4) train = all;  // few rows have nearly all
  if (!train.on_host()) train = TrainingSet<Scalar, Index, Space>(rows.to_root(train.tensor()));
  return rows.on_root([&] { return choose_of_any_scale(space, train, options, format, watch); });
}

template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose_fast_tucker(Space const& space,
                                                   CooTensor<Scalar, Index, Space> const& train,
                                                   FastTuckerOptions const& options, AnyFormatOptions format,
                                                   FastTuckerSearchCallback const& on_search) {
  expect_coordinates_inside(space, train);
  return detail::choose(space, TrainingSet<Scalar, Index, Space>(train), options, format,
                        NonzeroDistribution<Scalar, Index, Space>(space, train.extents()), most_searched,
                        on_search);
}

#define POLYAD_CHOOSE(Scalar, Index)                                                                        \
  template FastTuckerChoice<Scalar, Kokkos::DefaultExecutionSpace> choose_fast_tucker(                      \
      Kokkos::DefaultExecutionSpace const&, CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FastTuckerOptions const&, AnyFormatOptions, FastTuckerSearchCallback const&);                         \
  template FastTuckerChoice<Scalar, Kokkos::DefaultExecutionSpace> detail::choose(                          \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      TrainingSet<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,           \
      AnyFormatOptions const&, NonzeroDistribution<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,    \
      count_t, FastTuckerSearchCallback const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CHOOSE);

}  // namespace polyad
