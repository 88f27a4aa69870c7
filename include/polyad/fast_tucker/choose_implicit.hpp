// SPDX-License-Identifier: BSD-3-Clause
// choose_implicit chooses options of implicit feedback (FastTuckerOptions::implicit) by what they are for:
// rankings. Each candidate is fitted to some entries, and evaluated by NDCG@k on others, such as the last
// entry of each user. The loss over all cells cannot choose, since alpha and the ridge are part of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

template <class Space>
class Communicator;

struct ImplicitCandidate {
  double alpha;
  double ridge;
  std::uint64_t rank;
  Estimate ndcg;  // over users, on the held-out entries; no numbers for a fit that was cut short
};

/// What a search of `spent_s` seconds leaves of a time limit for a fit. A limit that has passed ends the fit
/// after its first epoch.
[[nodiscard]] inline double time_left(double limit_s, double spent_s) {
  return std::max(limit_s - spent_s, 1e-3);
}

/// Called after each candidate that was evaluated with all so far, and after each epoch of the next one with
/// the same ones, at first none. False ends the search, in the middle of a fit, too.
using ImplicitSearchCallback = std::function<bool(std::vector<ImplicitCandidate> const&)>;

struct ImplicitChoice {
  FastTuckerOptions options;  // those given, with alpha, the ridge and R of the best candidate
  std::vector<ImplicitCandidate> candidates;
  std::size_t best = 0;
  double seconds   = 0;
  /// `time_limit` and `interrupted`: the search ended early, with the best so far. A candidate whose fit was
  /// cut short counts only if it is the first. It is then the choice, without having been evaluated.
  StopReason reason = StopReason::converged;
  /// The most popular items on the same entries, as `popular` of evaluate. No numbers before an evaluation.
  Estimate popular = {};
  /// Whether the most popular items rank better than the best candidate.
  [[nodiscard]] bool loses_to_popular() const {
    return !candidates.empty() && popular.value > candidates[best].ndcg.value;
  }
};

/// Tries alpha of 1, 3 and 10, and 0.1 or 40 if 1 or 10 was the best. They have R = 64, and a ridge by which
/// a tensor with as many entries at random places would be almost zero. Then half of this ridge and 5/3 of it
/// follow, and further such steps while they are better; then an R of 128 and, unless that was better, of 32.
/// Each has the best of the others so far; the first of equal ones is taken. What the options have already
/// (an alpha only if `keeps_alpha`) stays. Candidates have the epochs of the options, at most 15. Waits for
/// `space`.
/// \param kept      to learn from
/// \param held      to evaluate on: relevant where the value is above 0, and not among what `kept` has of the
///                  same user
/// \param ranking   which modes are users and items, k, and the contexts
/// \throws UsageError unless the options ask for implicit feedback, and if no user has a relevant entry;
///         otherwise as fast_tucker and evaluate
template <class Scalar, class Index, class Space>
[[nodiscard]] ImplicitChoice choose_implicit(Space const& space, CooTensor<Scalar, Index, Space> const& kept,
                                             CooTensor<Scalar, Index, Space> const& held,
                                             FastTuckerOptions const& options, bool keeps_alpha = false,
                                             EvaluationOptions ranking              = {},
                                             ImplicitSearchCallback const& callback = {});

/// The same on several ranks, which fit and evaluate each candidate together. All ranks call it, make the
/// choice of one rank, and throw alike.
/// \param kept      some of the entries, which all ranks together have once; whole extents. So is `held`
/// \param callback  called on each rank; the search ends if it returns false on any
template <class Scalar, class Index, class Space>
[[nodiscard]] ImplicitChoice choose_implicit(Communicator<Space> const& ranks,
                                             CooTensor<Scalar, Index, Space> const& kept,
                                             CooTensor<Scalar, Index, Space> const& held,
                                             FastTuckerOptions const& options, bool keeps_alpha = false,
                                             EvaluationOptions ranking              = {},
                                             ImplicitSearchCallback const& callback = {});

#define POLYAD_CHOOSE_IMPLICIT(Scalar, Index)                                                            \
  template ImplicitChoice choose_implicit(                                                               \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&,                              \
      CooTensor<Scalar, Index, CompiledSpace> const&, FastTuckerOptions const&, bool, EvaluationOptions, \
      ImplicitSearchCallback const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_CHOOSE_IMPLICIT);

}  // namespace polyad
