// SPDX-License-Identifier: BSD-3-Clause
// Penalties of modes as they are typed: --ridge=0.1 for all modes, --ridge=3:0.5 for mode 3,
// --ridge=user:0.5 for the mode of this name.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace polyad::cli {

struct ModePenalty {
  std::optional<int> mode;  // counts from 0; none: all modes that have no penalty of their own
  double penalty   = 0;     // or a bound
  std::string name = {};    // the name that was typed for a mode whose number is not known yet
};

/// Whether numbers below 0 are refused.
enum class NumberSign { not_negative, any };

/// \param option  the name of the option, for the message
/// \throws UsageError for a text that is neither X nor MODE:X with X at least 0, and for two of one mode
[[nodiscard]] std::vector<ModePenalty> mode_penalties(std::string const& option,
                                                      std::vector<std::string> const& texts,
                                                      NumberSign sign = NumberSign::not_negative);

}  // namespace polyad::cli
