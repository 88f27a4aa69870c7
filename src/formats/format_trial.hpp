// SPDX-License-Identifier: BSD-3-Clause
// The trials of formats on the tensor itself: their choice and their timing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "polyad/formats/any_format.hpp"

namespace polyad::detail {

/// The candidates to try for `trial`. With `close` it also gives the mode. Empty if there are none.
struct TrialPlan {
  std::vector<FormatCandidate*> candidates;
  std::vector<int> modes;  // none: all
};
[[nodiscard]] TrialPlan plan_trial(std::vector<FormatCandidate>& candidates, FormatTrial trial);

/// Builds the candidate's format from `coo` and times an MTTKRP of each of `modes` (empty: of all modes).
/// Sets candidate.measured and bytes, and releases the format. A time is the shorter of two, after a first
/// run.
/// For other modes the prediction, which must exist, is scaled by measured over predicted. On a device a
/// short build is repeated and the second one counts, since the first also loads kernels. Waits for `space`.
/// \return false, with candidate.fits = false, if the format does not fit the memory
template <class Scalar, class Index, class Space>
bool try_candidate(Space const& space, CooTensor<Scalar, Index, Space> const& coo, count_t rank,
                   std::vector<int> modes, FormatCandidate& candidate,
                   std::function<void(char const*)> const& progress = {});

/// Builds the format from `coo` in each of its shapes, times them and releases them. Returns the shapes, the
/// fastest first; none for a format that has only one shape. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] std::vector<FormatShape> try_shapes(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo,
                                                  std::string const& format, count_t rank);

}  // namespace polyad::detail
