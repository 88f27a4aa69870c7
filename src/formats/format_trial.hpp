// SPDX-License-Identifier: BSD-3-Clause
// Which formats are tried on the tensor itself (try_candidate).
#pragma once

#include <vector>

#include "polyad/formats/any_format.hpp"

namespace polyad::detail {

/// The candidates that `trial` wants tried; with `close`, in which mode. Empty where none.
struct TrialPlan {
  std::vector<FormatCandidate*> candidates;
  std::vector<int> modes;  // none: all
};
[[nodiscard]] TrialPlan plan_trial(std::vector<FormatCandidate>& candidates, FormatTrial trial);

}  // namespace polyad::detail
