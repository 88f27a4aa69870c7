// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/mode_penalties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "cli/typed_text/numbers.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {

ModePenalty mode_penalty(std::string const& option, std::string const& text) {
  std::size_t const colon = text.find(':');
  std::string mode        = colon == std::string::npos ? "0" : text.substr(0, colon);
  std::string number      = colon == std::string::npos ? text : text.substr(colon + 1);
  ModePenalty result;
  int value = 0;
  if (!settle_whole_number<int>(mode).empty() || !settle_number(number).empty() || mode.front() == '-')
    throw UsageError(
        fmt::format("{} takes X, or MODE:X with a mode from 0 on, not '{}'", option, printable(text)));
  std::from_chars(mode.data(), mode.data() + mode.size(), value);
  std::from_chars(number.data(), number.data() + number.size(), result.penalty);
  if (!(result.penalty >= 0) || std::isinf(result.penalty))
    throw UsageError(fmt::format("{} takes a number from 0 on, not '{}'", option, printable(text)));
  if (colon != std::string::npos) result.mode = value;
  return result;
}

}  // namespace

std::vector<ModePenalty> mode_penalties(std::string const& option, std::vector<std::string> const& texts) {
  std::vector<ModePenalty> penalties;
  for (auto const& text : texts) {
    auto const penalty = mode_penalty(option, text);
    for (auto const& before : penalties)
      if (before.mode == penalty.mode)
        throw UsageError(fmt::format("{} is given twice for {}", option,
                                     penalty.mode ? fmt::format("mode {}", *penalty.mode) : "all modes"));
    penalties.push_back(penalty);
  }
  return penalties;
}

std::vector<double> penalties_of_modes(std::string const& option, std::vector<ModePenalty> const& penalties,
                                       int order) {
  std::vector<double> of_modes(static_cast<std::size_t>(order), 0.0);
  for (auto const& penalty : penalties)
    if (!penalty.mode) std::fill(of_modes.begin(), of_modes.end(), penalty.penalty);
  for (auto const& penalty : penalties) {
    if (!penalty.mode) continue;
    if (*penalty.mode >= order)
      throw UsageError(fmt::format("{} names mode {}, but the tensor has modes 0 to {}", option,
                                   *penalty.mode, order - 1));
    of_mode(of_modes, *penalty.mode) = penalty.penalty;
  }
  auto const free = std::find(of_modes.begin(), of_modes.end(), 0.0);
  if (std::all_of(of_modes.begin(), of_modes.end(), [](double penalty) { return penalty == 0; })) return {};
  if (free != of_modes.end())
    throw UsageError(
        fmt::format("{} leaves mode {} without a penalty: the scale of the components would escape into it. "
                    "Give all modes one",
                    option, free - of_modes.begin()));
  return of_modes;
}

}  // namespace polyad::cli
