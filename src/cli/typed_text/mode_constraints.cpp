// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/mode_constraints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "cli/names/words.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/typed_text/numbers.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {

bool is_whole_number(std::string text) {
  return settle_whole_number<int>(text).empty();
}

/// The numbers in a list of modes, which commas separate; names are passed over.
std::vector<int> modes_in(std::string const& option, std::string const& text) {
  std::vector<int> modes;
  auto const words = split_words(text, false);
  for (auto const& word : words) {
    std::string mode = word.text;
    int value        = 0;
    if (mode.empty() || (settle_whole_number<int>(mode).empty() && mode.front() == '-'))
      refuse("{} takes modes by number, counted from 0, or by name, as {}=0,2, not '{}'", option, option,
             printable(text));
    if (!is_whole_number(mode)) continue;
    std::from_chars(mode.data(), mode.data() + mode.size(), value);
    if (std::find(modes.begin(), modes.end(), value) != modes.end())
      refuse("{} names mode {} twice", option, value);
    modes.push_back(value);
  }
  return modes;
}

void expect_mode(std::string const& option, int mode, int order) {
  if (mode >= order) refuse("{} names mode {}, but the tensor has modes 0 to {}", option, mode, order - 1);
}

/// Calls put(constraints of a mode, number) for each mode that the numbers name, or all.
template <class Put>
void put_numbers(std::string const& option, std::vector<ModePenalty> const& numbers,
                 std::vector<Constraints>& constraints, Put const& put) {
  for (auto const& number : numbers)
    if (!number.mode)
      for (auto& of_mode : constraints) put(of_mode, number.penalty);
  for (auto const& number : numbers) {
    if (!number.mode) continue;
    expect_mode(option, *number.mode, static_cast<int>(constraints.size()));
    put(constraints[*number.mode], number.penalty);
  }
}

void expect_no_escape(TypedConstraints const& typed, std::vector<Constraints> const& constraints) {
  if (std::ranges::none_of(constraints, &Constraints::is_penalised)) return;
  for (std::size_t n = 0; n < constraints.size(); ++n)
    if (!constraints[n].is_penalised() && !constraints[n].is_bounded() && !is_fixed(typed, n))
      refuse(
          "{} leaves mode {} without a penalty: the scale of the components would escape into it. "
          "Give all modes one, or bounds on both sides, or --fix them",
          typed.ridge.empty() ? "--l1" : "--ridge", n);
}

}  // namespace

void read_texts(TypedConstraints& typed) {
  typed.all_nonnegative = typed.nonnegative_text == "all";
  if (!typed.all_nonnegative && !typed.nonnegative_text.empty())
    typed.nonnegative = modes_in("--nonnegative", typed.nonnegative_text);
  typed.lower = mode_penalties("--lower", typed.lower_texts, NumberSign::any);
  typed.upper = mode_penalties("--upper", typed.upper_texts, NumberSign::any);
  typed.l1    = mode_penalties("--l1", typed.l1_texts);
  typed.ridge = mode_penalties("--ridge", typed.ridge_texts);
  if (!typed.fixed_texts.empty())
    typed.fixed = modes_in("--fix", fmt::format("{}", fmt::join(typed.fixed_texts, ",")));
}

void settle_modes(TypedConstraints& typed,
                  std::function<int(std::string const& option, std::string const& name)> const& number_of) {
  auto const in_list = [&](std::string const& option, std::string& text) {
    std::string numbers;
    for (auto const& word : split_words(text, false))
      numbers += (numbers.empty() ? "" : ",") +
                 (is_whole_number(word.text) ? word.text : std::to_string(number_of(option, word.text)));
    text = numbers;
  };
  auto const before_colons = [&](std::string const& option, std::vector<std::string>& texts) {
    for (auto& text : texts) {
      auto const colon = text.rfind(':');
      if (colon == std::string::npos || is_whole_number(text.substr(0, colon))) continue;
      text = std::to_string(number_of(option, text.substr(0, colon))) + text.substr(colon);
    }
  };
  if (typed.nonnegative_text != "all") in_list("--nonnegative", typed.nonnegative_text);
  before_colons("--lower", typed.lower_texts);
  before_colons("--upper", typed.upper_texts);
  before_colons("--l1", typed.l1_texts);
  before_colons("--ridge", typed.ridge_texts);
  for (auto& text : typed.fixed_texts) in_list("--fix", text);
  read_texts(typed);
}

std::vector<Constraints> constraints_of_modes(TypedConstraints const& typed, int order) {
  std::vector<Constraints> result(order);
  put_numbers("--lower", typed.lower, result, [](Constraints& c, double x) { c.lower = x; });
  put_numbers("--upper", typed.upper, result, [](Constraints& c, double x) { c.upper = x; });
  put_numbers("--l1", typed.l1, result, [](Constraints& c, double x) { c.l1 = x; });
  put_numbers("--ridge", typed.ridge, result, [](Constraints& c, double x) { c.ridge = x; });
  for (int const mode : typed.nonnegative) expect_mode("--nonnegative", mode, order);
  for (int n = 0; n < order; ++n) {
    auto& of_n       = result[n];
    auto const& list = typed.nonnegative;
    if (typed.all_nonnegative || std::find(list.begin(), list.end(), n) != list.end())
      of_n.lower = std::max(of_n.lower, 0.0);
    if (of_n.lower > of_n.upper)
      refuse("mode {} has the lower bound {} and the upper bound {}: no number is between them", n,
             of_n.lower, of_n.upper);
  }
  expect_no_escape(typed, result);
  if (std::ranges::all_of(result, [](auto const& c) { return c == Constraints(); })) result.clear();
  return result;
}

bool is_fixed(TypedConstraints const& typed, std::size_t n) {
  return std::ranges::find(typed.fixed, static_cast<int>(n)) != typed.fixed.end();
}

bool are_constrained(std::vector<Constraints> const& constraints) {
  return !std::ranges::all_of(constraints, &Constraints::is_unconstrained);
}

std::vector<WeightShare> shares_of_weights(TypedConstraints const& typed, std::size_t order) {
  auto const constraints = constraints_of_modes(typed, static_cast<int>(order));
  std::vector<WeightShare> limited, ridges;
  std::size_t free   = order;
  double mean_square = 0;  // the logarithm of the ridges' geometric mean
  for (std::size_t n = 0; n < order; ++n) {
    if (is_fixed(typed, n)) continue;
    free = std::min(free, n);
    if (constraints.empty() || (constraints[n].is_cone() && !constraints[n].is_penalised())) return {{n}};
    if (!constraints[n].is_bounded()) limited.push_back({n});
    if (!constraints[n].is_unconstrained()) continue;
    ridges.push_back({n, 1 / std::sqrt(constraints[n].ridge)});
    mean_square += std::log(constraints[n].ridge);
  }
  for (auto& share : ridges) share.factor *= std::exp(mean_square / (2 * static_cast<double>(ridges.size())));
  if (!ridges.empty()) return ridges;
  if (limited.empty() && free < order) limited.push_back({free});
  return limited;
}

}  // namespace polyad::cli
