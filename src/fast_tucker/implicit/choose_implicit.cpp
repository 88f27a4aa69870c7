// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/choose_implicit.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"

namespace polyad {

namespace {

/// A candidate learns little after this many epochs of als.
constexpr int most_epochs_of_candidate = 10;

/// R of a run on implicit feedback that names none (with_shape).
constexpr std::uint64_t usual_implicit_rank = 32;

template <class Scalar, class Index, class Space>
class ImplicitSearch {
public:
  using Tensor = CooTensor<Scalar, Index, Space>;

  ImplicitSearch(Space const& space, Tensor const& kept, Tensor const& held, FastTuckerOptions const& options,
                 EvaluationOptions ranking, ImplicitSearchCallback const& callback)
      : m_space(space), m_kept(kept), m_held(held), m_ranking(std::move(ranking)), m_callback(callback) {
    m_choice.options    = options;
    m_ranking.observed  = observed_rows(space, kept);
    m_ranking.baselines = false;
    m_ranking.per_user  = false;
  }

  [[nodiscard]] ImplicitChoice run(bool keeps_alpha) {
    auto const& given    = m_choice.options;
    bool const has_ridge = given.ridge.has_value();
    bool const has_rank  = given.rank > 0 || !given.columns.empty();
    ImplicitCandidate at{*given.implicit, 0, has_rank ? given.rank : usual_implicit_rank, {}};
    std::vector<double> alphas{at.alpha};
    if (!keeps_alpha) alphas = {1, 10, usual_alpha};
    for (double const alpha : alphas) {
      at.alpha = alpha;
      attempt(at, has_ridge ? *given.ridge : implicit_ridge(alpha, m_kept.order()));
    }
    if (!has_ridge) {
      at                 = m_choice.candidates.at(m_choice.best);
      double const usual = at.ridge;
      for (double const factor : {0.1, 0.3, 3.0, 10.0}) attempt(at, factor * usual);
    }
    if (!has_rank) {
      at = m_choice.candidates.at(m_choice.best);
      for (std::uint64_t const rank : {usual_implicit_rank / 2, 2 * usual_implicit_rank}) {
        at.rank = rank;
        attempt(at, at.ridge);
      }
    }
    auto const& best          = m_choice.candidates.at(m_choice.best);
    m_choice.options.implicit = best.alpha;
    m_choice.options.ridge    = best.ridge;
    if (!has_rank) m_choice.options.rank = best.rank;
    m_choice.seconds = m_timer.seconds();
    return std::move(m_choice);
  }

private:
  [[nodiscard]] FastTuckerOptions options_of(ImplicitCandidate const& candidate) const {
    auto options       = m_choice.options;
    options.implicit   = candidate.alpha;
    options.ridge      = candidate.ridge;
    options.rank       = candidate.rank;
    options.max_epochs = std::min(options.max_epochs, most_epochs_of_candidate);
    options.checkpoint.clear();
    options.resume.clear();
    return options;
  }

  void attempt(ImplicitCandidate candidate, double ridge) {
    if (m_choice.reason != StopReason::converged) return;
    candidate.ridge    = ridge;
    auto const fitted  = fast_tucker(m_space, m_kept, options_of(candidate)).model;
    auto const found   = evaluate(m_space, fitted, m_held, m_ranking, m_kept);
    candidate.ndcg     = found.scores.at(0)[Metric::ndcg];
    bool const is_none = std::isnan(candidate.ndcg.value);
    POLYAD_EXPECTS(!is_none, "no user has a held-out entry above 0, so that rankings cannot be compared");
    auto& all = m_choice.candidates;
    if (!all.empty() && candidate.ndcg.value > all.at(m_choice.best).ndcg.value) m_choice.best = all.size();
    all.push_back(candidate);
    if (m_callback && !m_callback(all)) m_choice.reason = StopReason::interrupted;
    if (m_choice.reason == StopReason::converged && m_timer.seconds() > m_choice.options.time_limit_s)
      m_choice.reason = StopReason::time_limit;
  }

  Space m_space;
  Tensor m_kept, m_held;
  EvaluationOptions m_ranking;
  ImplicitSearchCallback m_callback;
  ImplicitChoice m_choice;
  Kokkos::Timer m_timer;
};

}  // namespace

template <class Scalar, class Index, class Space>
ImplicitChoice choose_implicit(Space const& space, CooTensor<Scalar, Index, Space> const& kept,
                               CooTensor<Scalar, Index, Space> const& held, FastTuckerOptions const& options,
                               bool keeps_alpha, EvaluationOptions ranking,
                               ImplicitSearchCallback const& callback) {
  POLYAD_EXPECTS(options.implicit.has_value(), "choose_implicit is for implicit feedback: name an alpha");
  POLYAD_EXPECTS(options.optimizer == FastTuckerOptimizer::als, "implicit feedback is for als");
  return ImplicitSearch<Scalar, Index, Space>(space, kept, held, options, std::move(ranking), callback)
      .run(keeps_alpha);
}

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CHOOSE_IMPLICIT);

}  // namespace polyad
