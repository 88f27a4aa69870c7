// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/choose_implicit.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
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
constexpr int most_epochs_of_candidate = 10;

/// R of a run on implicit feedback that names none (with_shape).
constexpr std::uint64_t usual_implicit_rank = 32;

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
    m_choice.options    = options;
    m_ranking.observed  = observed_on_ranks(ranks, m_kept.train);
    m_ranking.baselines = false;
    m_ranking.per_user  = false;
  }

  [[nodiscard]] ImplicitChoice run(bool keeps_alpha) {
    auto const& given    = m_choice.options;
    bool const has_ridge = given.ridge.has_value();
    bool const has_rank  = given.rank > 0 || !given.columns.empty();
    ImplicitCandidate at{*given.implicit, 0, has_rank ? given.rank : usual_implicit_rank, {}};
    std::vector<double> alphas{at.alpha};
    if (!keeps_alpha) alphas = {1, 3, 10, usual_alpha};
    for (double const alpha : alphas) {
      at.alpha = alpha;
      attempt(at, has_ridge ? *given.ridge : implicit_ridge(alpha, m_kept.train.order()));
    }
    if (!has_ridge) {
      at                 = m_choice.candidates.at(m_choice.best);
      double const usual = at.ridge;
      for (double const factor : {0.3, 3.0}) attempt(at, factor * usual);
      double const best = m_choice.candidates.at(m_choice.best).ridge;
      if (best != usual) attempt(at, (best < usual ? 0.1 : 10.0) * usual);
    }
    if (!has_rank) {
      at = m_choice.candidates.at(m_choice.best);
      for (std::uint64_t const rank : {2 * usual_implicit_rank, usual_implicit_rank / 2}) {
        if (m_choice.candidates.at(m_choice.best).rank != usual_implicit_rank) break;
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
    candidate.ridge    = ridge;
    auto const options = options_of(candidate);
    auto const fitted  = shared(fast_tucker(m_ranks.space(), m_kept, options).model, options);
    auto const found   = evaluate(m_ranks, fitted, m_held, m_ranking, m_kept.train);
    candidate.ndcg     = found.scores.at(0)[Metric::ndcg];
    bool const is_none = std::isnan(candidate.ndcg.value);
    POLYAD_EXPECTS(!is_none, "no user has a held-out entry above 0, so that rankings cannot be compared");
    auto& all = m_choice.candidates;
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
