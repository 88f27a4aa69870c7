// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/mode_penalties.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>

#include "cli/streams/refuse.hpp"
#include "cli/typed_text/numbers.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {

/// Whether it has only digits and signs: no mode has such a name, nor such a number if it is too large.
bool is_like_number(std::string const& mode) {
  return mode.find_first_not_of("+-0123456789") == std::string::npos;
}

ModePenalty mode_penalty(std::string const& option, std::string const& text, NumberSign sign) {
  std::size_t const colon = text.rfind(':');  // a name may have one
  std::string mode        = colon == std::string::npos ? "0" : text.substr(0, colon);
  std::string number      = colon == std::string::npos ? text : text.substr(colon + 1);
  ModePenalty result;
  bool const is_number = settle_whole_number<int>(mode).empty();
  if (!settle_number(number).empty() || mode.empty() || (is_number && mode.front() == '-') ||
      (!is_number && is_like_number(mode)))
    refuse("{} takes X, or MODE:X with the number of a mode, counted from 0, or its name, not '{}'", option,
           printable(text));
  std::from_chars(number.data(), number.data() + number.size(), result.penalty);
  bool const may_be_negative = sign == NumberSign::any;
  if (!std::isfinite(result.penalty) || (result.penalty < 0 && !may_be_negative))
    refuse("{} takes a number{}, not '{}'", option, may_be_negative ? "" : " of at least 0", printable(text));
  if (!is_number) {
    result.name = mode;
  } else if (colon != std::string::npos) {
    std::from_chars(mode.data(), mode.data() + mode.size(), result.mode.emplace());
  }
  return result;
}

}  // namespace

std::vector<ModePenalty> mode_penalties(std::string const& option, std::vector<std::string> const& texts,
                                        NumberSign sign) {
  std::vector<ModePenalty> penalties;
  for (auto const& text : texts) {
    auto const penalty = mode_penalty(option, text, sign);
    for (auto const& before : penalties)
      if (before.mode == penalty.mode && before.name == penalty.name)
        refuse("{} is given twice for {}", option,
               penalty.mode           ? fmt::format("mode {}", *penalty.mode)
               : penalty.name.empty() ? "all modes"
                                      : "mode " + printable(penalty.name));
    penalties.push_back(penalty);
  }
  return penalties;
}

}  // namespace polyad::cli
