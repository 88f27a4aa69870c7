// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/choose_implicit.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "distributed/over_ranks.hpp"
#include "fast_tucker/implicit/implicit.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"

namespace polyad {

using namespace detail;
namespace {

/// A candidate learns little after this many epochs of als.
constexpr int most_epochs_of_candidate = 15;

/// The first R; twice this and half of it follow.
constexpr std::uint64_t first_rank = 64;

/// If the first or the last one is the best, the search also tries least_alpha or usual_alpha.
constexpr std::array first_alphas{1.0, 3.0, 10.0};
constexpr double least_alpha = 0.1;

/// The level that the first ridge draws to zero, in levels of noise (first_ridge). On ratings of 4 and more
/// of ml-latest-small, 0.6 had the best NDCG@10 of 0.3, 0.6 and 1, for alphas of 0.01, 1 and 3 with R = 64.
/// With three modes, 0.05 to 0.4 were alike there, and more was worse on airlines' routes.
double first_level(int order) {
  return order == 2 ? 0.6 : 0.2;
}
constexpr std::array ridge_steps{0.5, 5.0 / 3};
constexpr int most_ridge_steps = 8;

template <class Scalar>
struct CountPositive {
  Scalar const* values;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& count) const { count += values[p] > 0 ? 1 : 0; }
};

/// The number of entries above 0 of all ranks.
template <class Scalar, class Index, class Space>
count_t positive_entries(Communicator<Space> const& ranks, CooTensor<Scalar, Index, Space> const& part) {
  count_t count = 0;
  if (part.nnz() > 0)
    Kokkos::parallel_reduce(
        "polyad::count_positive",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(ranks.space(), 0, part.nnz()),
        CountPositive<Scalar>{part.values().data()}, count);
  ranks.host().all_reduce(&count, 1);
  return count;
}

/// Two digits, as a ridge is printed.
double rounded(double x) {
  if (!(x > 0) || !std::isfinite(x)) return x;
  double const unit = std::pow(10.0, 1 - std::floor(std::log10(x)));
  return std::round(x * unit) / unit;
}

/// The smallest ridge for which a tensor of this spectral norm has the best approximation zero, of order N:
/// the minimum over s of s^2 - 2 level s + N ridge s^(2 / N), where s is the norm of a component of rank 1
/// with factors of equal norms.
double ridge_of_level(double level, int order) {
  if (order <= 2) return level;
  double const N = order;
  double const s = level * (N - 2) / (N - 1);
  return std::pow(s, 2 - 2 / N) / (N - 2);
}

/// The rows that have entries on any rank.
template <class Scalar, class Index, class Space>
ObservedRows observed_on_ranks(Communicator<Space> const& ranks,
                               CooTensor<Scalar, Index, Space> const& part) {
  AllRanks<Space> const all(ranks);
  auto observed       = all.together([&] {
    auto rows = observed_rows(ranks.space(), part);
    rows.resize(static_cast<std::size_t>(part.order()));
    return rows;
  });
  bool some_are_empty = false;
  for (int n = 0; n < part.order(); ++n) {
    auto& rows = observed[static_cast<std::size_t>(n)];
    auto has   = all.together([&] {
      std::vector<std::uint32_t> marks(rows.begin(), rows.end());
      marks.resize(part.extents()[n], rows.empty() ? 1 : 0);
      return marks;
    });
    ranks.host().all_reduce(has.data(), has.size());
    rows.clear();
    if (std::ranges::find(has, 0U) == has.end()) continue;
    for (auto const mark : has) rows.push_back(mark > 0 ? 1 : 0);
    some_are_empty = true;
  }
  if (!some_are_empty) observed.clear();
  return observed;
}

template <class Scalar, class Index, class Space>
class ImplicitSearch {
public:
  using Tensor = CooTensor<Scalar, Index, Space>;

  ImplicitSearch(Communicator<Space> const& ranks, Tensor const& kept, Tensor const& held,
                 FastTuckerOptions const& options, EvaluationOptions ranking,
                 ImplicitSearchCallback const& callback)
      : m_ranks(ranks),
        m_kept(distribute(ranks, FastTuckerData<Scalar, Index, Space>{.train = kept})),
        m_held(held),
        m_ranking(std::move(ranking)),
        m_callback(callback) {
    m_choice.options   = options;
    m_entries          = static_cast<double>(positive_entries(ranks, kept));
    m_ranking.observed = observed_on_ranks(ranks, m_kept.train);
    m_ranking.per_user = false;
  }

  [[nodiscard]] ImplicitChoice run(bool keeps_alpha) {
    auto const& given    = m_choice.options;
    bool const has_ridge = given.ridge.has_value();
    bool const has_rank  = given.rank > 0 || !given.columns.empty();
    ImplicitCandidate at{*given.implicit, 0, has_rank ? given.rank : first_rank, {}};
    auto const attempt_alpha = [&](double alpha) {
      at.alpha = alpha;
      attempt(at, has_ridge ? *given.ridge : first_ridge(alpha));
    };
    if (keeps_alpha) {
      attempt_alpha(*given.implicit);
    } else {
      for (double const alpha : first_alphas) attempt_alpha(alpha);
      if (best().alpha == first_alphas.front()) attempt_alpha(least_alpha);
      if (best().alpha == first_alphas.back()) attempt_alpha(usual_alpha);
    }
    if (!has_ridge) try_ridges();
    if (!has_rank) try_ranks();
    m_choice.options.implicit = best().alpha;
    m_choice.options.ridge    = best().ridge;
    if (!has_rank) m_choice.options.rank = best().rank;
    m_choice.seconds = m_timer.seconds();
    return std::move(m_choice);
  }

private:
  [[nodiscard]] ImplicitCandidate const& best() const { return m_choice.candidates.at(m_choice.best); }

  /// For small factors the loss is that of a tensor with the entries 1 + alpha x. If they were at random
  /// places, its spectral norm would be about the level here, with x = 1 (Latala, Proc. AMS 133, 2005).
  /// Components below it are noise. Large x would make the level far too large: their scores are near 1 soon.
  [[nodiscard]] double first_ridge(double alpha) const {
    auto const& extents = m_kept.rows->extents();
    std::vector<double> rows;
    double cells = 1;
    for (int n = 0; n < extents.order(); ++n) {
      rows.push_back(static_cast<double>(extents[n]));
      if (!m_ranking.observed.empty() && !m_ranking.observed[static_cast<std::size_t>(n)].empty()) {
        auto const& marks = m_ranking.observed[static_cast<std::size_t>(n)];
        rows.back()       = std::accumulate(marks.begin(), marks.end(), 0.0);
      }
      cells *= rows.back();
    }
    double level = 0;
    for (double const length : rows) level += (1 + alpha) * std::sqrt(m_entries / cells * length);
    double const ridge = rounded(ridge_of_level(first_level(extents.order()) * level, extents.order()));
    return ridge > 0 && std::isfinite(ridge) ? ridge : implicit_ridge(alpha, extents.order());
  }

  /// A smaller and a larger ridge, and further steps in that direction for as long as they are better. The
  /// entries may be so few that the best ridge is several times the first one.
  void try_ridges() {
    auto const at = best();
    for (double const step : ridge_steps) attempt(at, rounded(step * at.ridge));
    if (best().ridge == at.ridge) return;
    double const step = ridge_steps[best().ridge < at.ridge ? 0 : 1];
    for (int steps = 0; steps < most_ridge_steps; ++steps) {
      double const next = rounded(step * best().ridge);
      attempt(at, next);
      if (best().ridge != next) return;
    }
  }

  /// Double the R and half of it.
  void try_ranks() {
    auto at = best();
    for (std::uint64_t const rank : {2 * first_rank, first_rank / 2}) {
      if (best().rank != first_rank) break;
      at.rank = rank;
      attempt(at, at.ridge);
    }
  }

  [[nodiscard]] FastTuckerOptions options_of(ImplicitCandidate const& candidate) const {
    auto options         = m_choice.options;
    options.implicit     = candidate.alpha;
    options.ridge        = candidate.ridge;
    options.rank         = candidate.rank;
    options.max_epochs   = std::min(options.max_epochs, most_epochs_of_candidate);
    options.time_limit_s = time_left(options.time_limit_s, m_timer.seconds());
    options.checkpoint.clear();
    options.resume.clear();
    return options;
  }

  /// The model that a fit gave the first rank, on all ranks.
  [[nodiscard]] FastTuckerModel<Scalar, Space> shared(FastTuckerModel<Scalar, Space> const& fitted,
                                                      FastTuckerOptions const& options) const {
    auto const& rows  = *m_kept.rows;
    auto const shaped = with_shape(options, rows.extents().order());
    auto model        = rows.together([&] {
      return FastTuckerModel<Scalar, Space>(m_ranks.space(), rows.extents(), shaped.columns, shaped.rank,
                                            shaped.biases);
    });
    model.range       = {options.range.lowest, options.range.highest};
    for (int n = 0; n < model.order(); ++n) {
      rows.on_root([&] {
        copy_matrix(m_ranks.space(), model.A(n), fitted.A(n));
        copy_matrix(m_ranks.space(), model.B(n), fitted.B(n));
      });
      rows.broadcast_from_root(model.A(n));
      rows.broadcast_from_root(model.B(n));
    }
    return model;
  }

  void attempt(ImplicitCandidate candidate, double ridge) {
    if (m_choice.reason != StopReason::converged) return;
    auto& all          = m_choice.candidates;
    candidate.ridge    = ridge;
    auto const options = options_of(candidate);
    auto const fit     = fast_tucker(m_ranks.space(), m_kept, options,
                                     [&](FastTuckerEpoch const&) { return !m_callback || m_callback(all); });
    bool const is_cut  = fit.reason == StopReason::interrupted || fit.reason == StopReason::time_limit;
    if (is_cut) {
      m_choice.reason = fit.reason;
      // Whoever ended the fit should not have to wait for a ranking that nothing is compared with.
      if (all.empty()) all.push_back(candidate);
      return;
    }
    auto const fitted = shared(fit.model, options);
    // The first candidate with the baselines, which are the same for all.
    m_ranking.baselines = all.empty();
    auto const found    = evaluate(m_ranks, fitted, m_held, m_ranking, m_kept.train);
    candidate.ndcg      = found.scores.at(0)[Metric::ndcg];
    for (auto const& of : found.scores)
      if (of.method == "popular" && of.activity == "all") m_choice.popular = of[Metric::ndcg];
    bool const is_none = std::isnan(candidate.ndcg.value);
    POLYAD_EXPECTS(!is_none, "no user has a held-out entry above 0, so that rankings cannot be compared");
    if (!all.empty() && candidate.ndcg.value > all.at(m_choice.best).ndcg.value) m_choice.best = all.size();
    all.push_back(candidate);
    auto const& rows   = *m_kept.rows;
    bool const is_left = rows.together([&] { return m_callback && !m_callback(all); });
    if (rows.any(is_left)) m_choice.reason = StopReason::interrupted;
    bool const is_late = rows.any(m_timer.seconds() > m_choice.options.time_limit_s);
    if (m_choice.reason == StopReason::converged && is_late) m_choice.reason = StopReason::time_limit;
  }

  Communicator<Space> m_ranks;
  FastTuckerData<Scalar, Index, Space> m_kept;
  double m_entries = 0;  // those above 0
  Tensor m_held;
  EvaluationOptions m_ranking;
  ImplicitSearchCallback m_callback;
  ImplicitChoice m_choice;
  Kokkos::Timer m_timer;
};

}  // namespace

template <class Scalar, class Index, class Space>
ImplicitChoice choose_implicit(Communicator<Space> const& ranks, CooTensor<Scalar, Index, Space> const& kept,
                               CooTensor<Scalar, Index, Space> const& held, FastTuckerOptions const& options,
                               bool keeps_alpha, EvaluationOptions ranking,
                               ImplicitSearchCallback const& callback) {
  POLYAD_EXPECTS(options.implicit.has_value(), "choose_implicit is for implicit feedback: name an alpha");
  detail::expect_implicit_options(options);
  return ImplicitSearch<Scalar, Index, Space>(ranks, kept, held, options, std::move(ranking), callback)
      .run(keeps_alpha);
}

template <class Scalar, class Index, class Space>
ImplicitChoice choose_implicit(Space const& space, CooTensor<Scalar, Index, Space> const& kept,
                               CooTensor<Scalar, Index, Space> const& held, FastTuckerOptions const& options,
                               bool keeps_alpha, EvaluationOptions ranking,
                               ImplicitSearchCallback const& callback) {
  return choose_implicit(Communicator<Space>(space), kept, held, options, keeps_alpha, std::move(ranking),
                         callback);
}

#define POLYAD_CHOOSE_IMPLICIT_ON_RANKS(Scalar, Index)                                                    \
  template ImplicitChoice choose_implicit(Communicator<Kokkos::DefaultExecutionSpace> const&,             \
                                          CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                                          CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                                          FastTuckerOptions const&, bool, EvaluationOptions,              \
                                          ImplicitSearchCallback const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CHOOSE_IMPLICIT_ON_RANKS);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CHOOSE_IMPLICIT);

}  // namespace polyad
