// SPDX-License-Identifier: BSD-3-Clause
// Formats tried on the very tensor: built, timed and given up again.
#pragma once

#include <functional>
#include <vector>

#include "polyad/formats/any_format.hpp"

namespace polyad::detail {

/// Called after each step with its name; what it throws ends the trial.
using Progress = std::function<void(char const*)>;

/// Builds a candidate and times an MTTKRP of these modes (none: of all), the least of two after one that warms
/// up, and fills in what was measured. Modes that were not tried are predicted, by the ratio of those that were.
/// A short build is timed when it is repeated: without the loading of its kernels, which formats that were tried
/// before may share. False, with `fits` taken back, where the format does not fit after all. Waits for `space`.
template <class Scalar, class Index, class Space>
bool try_candidate(Space const& space, CooTensor<Scalar, Index, Space> const& coo, count_t rank,
                   std::vector<int> modes, FormatCandidate& candidate, Progress const& progress);

/// The candidates that `trial` wants tried; with `close`, in which mode. Empty where none.
struct TrialPlan {
  std::vector<FormatCandidate*> candidates;
  std::vector<int> modes;  // none: all
};
[[nodiscard]] TrialPlan plan_trial(std::vector<FormatCandidate>& candidates, FormatTrial trial);

}  // namespace polyad::detail
