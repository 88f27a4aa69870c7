// SPDX-License-Identifier: BSD-3-Clause
// Penalties of modes as they are typed: --ridge=0.1 for all modes, --ridge=3:0.5 for mode 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace polyad::cli {

struct ModePenalty {
  std::optional<int> mode;  // counts from 0; none: all modes that have no penalty of their own
  double penalty = 0;
};

/// \param option  the name of the option, for the message
/// \throws UsageError for a text that is neither X nor MODE:X with X from 0 on, and for two of one mode
[[nodiscard]] std::vector<ModePenalty> mode_penalties(std::string const& option,
                                                      std::vector<std::string> const& texts);

/// One penalty for each of `order` modes; none at all if all are 0.
/// \throws UsageError for a mode that the tensor does not have, and if some modes have a penalty and others
///         none: the scale of the components would escape into these
[[nodiscard]] std::vector<double> penalties_of_modes(std::string const& option,
                                                     std::vector<ModePenalty> const& penalties, int order);

}  // namespace polyad::cli
