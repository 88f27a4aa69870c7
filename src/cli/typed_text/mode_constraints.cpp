// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/mode_constraints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cli/names/words.hpp"
#include "cli/streams/messages.hpp"
#include "cli/typed_text/numbers.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {

/// The numbers in a list of modes, which commas separate; names are passed over.
std::vector<int> modes_in(std::string const& option, std::string const& text) {
  std::vector<int> modes;
  auto const words = split_words(text, false);
  for (auto const& word : words) {
    auto const mode = typed_number<int>(word.text);
    if (word.text.empty() || (mode && *mode < 0))
      refuse("{} takes modes by number, counted from 0, or by name, as {}=0,2, not '{}'", option, option,
             printable(text));
    if (!mode) continue;
    if (std::find(modes.begin(), modes.end(), *mode) != modes.end())
      refuse("{} names mode {} twice", option, *mode);
    modes.push_back(*mode);
  }
  return modes;
}

void expect_mode(std::string const& option, int mode, int order) {
  if (mode >= order) refuse("{} names mode {}, but the tensor has modes 0 to {}", option, mode, order - 1);
}

/// Whether it has only digits and signs: no mode has such a name, nor such a number if it is too large.
bool is_like_number(std::string const& mode) {
  return mode.find_first_not_of("+-0123456789") == std::string::npos;
}

ModePenalty mode_penalty(TypedNumbers const& typed, std::string const& text) {
  std::size_t const colon = text.rfind(':');  // a name may have one
  bool const has_mode     = colon != std::string::npos;
  std::string const mode  = has_mode ? text.substr(0, colon) : "0";
  auto const index        = typed_number<int>(mode);
  auto const number       = typed_number<double>(has_mode ? text.substr(colon + 1) : text);
  if (!number || mode.empty() || (index && *index < 0) || (!index && is_like_number(mode)))
    refuse("{} takes X, or MODE:X with the number of a mode, counted from 0, or its name, not '{}'",
           typed.option, printable(text));
  ModePenalty result;
  result.penalty = *number;
  if (!std::isfinite(result.penalty) || (result.penalty < 0 && !typed.may_be_negative))
    refuse("{} takes a number{}, not '{}'", typed.option, typed.may_be_negative ? "" : " of at least 0",
           printable(text));
  if (!index)
    result.name = mode;
  else if (has_mode)
    result.mode = index;
  return result;
}

void read_numbers(TypedNumbers& typed) {
  typed.numbers.clear();
  for (auto const& text : typed.texts) {
    auto const number = mode_penalty(typed, text);
    for (auto const& before : typed.numbers)
      if (before.mode == number.mode && before.name == number.name)
        refuse("{} is given twice for {}", typed.option,
               number.mode           ? fmt::format("mode {}", *number.mode)
               : number.name.empty() ? "all modes"
                                     : "mode " + printable(number.name));
    typed.numbers.push_back(number);
  }
}

/// Puts the numbers into the constraints of the modes that they name, or all.
void put_numbers(TypedNumbers const& typed, std::vector<Constraints>& constraints) {
  for (auto const& number : typed.numbers)
    if (!number.mode)
      for (auto& of_mode : constraints) of_mode.*typed.member = number.penalty;
  for (auto const& number : typed.numbers) {
    if (!number.mode) continue;
    expect_mode(typed.option, *number.mode, static_cast<int>(constraints.size()));
    constraints[*number.mode].*typed.member = number.penalty;
  }
}

void expect_no_escape(TypedConstraints const& typed, std::vector<Constraints> const& constraints) {
  if (std::ranges::none_of(constraints, &Constraints::is_penalised)) return;
  for (std::size_t n = 0; n < constraints.size(); ++n)
    if (!constraints[n].is_penalised() && !constraints[n].is_bounded() && !is_fixed(typed, n))
      refuse(
          "{} leaves mode {} without a penalty: the scale of the components would escape into it. "
          "Give all modes one, or bounds on both sides, or --fix them",
          typed.ridge.numbers.empty() ? "--l1" : "--ridge", n);
}

}  // namespace

void read_texts(TypedConstraints& typed) {
  typed.all_nonnegative = typed.nonnegative_text == "all";
  if (!typed.all_nonnegative && !typed.nonnegative_text.empty())
    typed.nonnegative = modes_in("--nonnegative", typed.nonnegative_text);
  for (auto* const numbers : {&typed.lower, &typed.upper, &typed.l1, &typed.ridge}) read_numbers(*numbers);
  if (!typed.fixed_texts.empty())
    typed.fixed = modes_in("--fix", fmt::format("{}", fmt::join(typed.fixed_texts, ",")));
}

void settle_modes(TypedConstraints& typed,
                  std::function<int(std::string const& option, std::string const& name)> const& number_of) {
  auto const in_list = [&](std::string const& option, std::string& text) {
    std::string numbers;
    for (auto const& word : split_words(text, false))
      numbers += (numbers.empty() ? "" : ",") +
                 (typed_number<int>(word.text) ? word.text : std::to_string(number_of(option, word.text)));
    text = numbers;
  };
  if (typed.nonnegative_text != "all") in_list("--nonnegative", typed.nonnegative_text);
  for (auto* const numbers : {&typed.lower, &typed.upper, &typed.l1, &typed.ridge})
    for (auto& text : numbers->texts) {
      auto const colon = text.rfind(':');
      if (colon == std::string::npos || typed_number<int>(text.substr(0, colon))) continue;
      text = std::to_string(number_of(numbers->option, text.substr(0, colon))) + text.substr(colon);
    }
  for (auto& text : typed.fixed_texts) in_list("--fix", text);
  read_texts(typed);
}

std::vector<Constraints> constraints_of_modes(TypedConstraints const& typed, int order) {
  std::vector<Constraints> result(order);
  for (auto const* const numbers : {&typed.lower, &typed.upper, &typed.l1, &typed.ridge})
    put_numbers(*numbers, result);
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
