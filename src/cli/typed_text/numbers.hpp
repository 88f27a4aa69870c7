// SPDX-License-Identifier: BSD-3-Clause
// Numbers on the command line. CLI11 lets a negative number wrap around, takes 010 for 8 and truncates what
// is too large. Here every number is decimal and in range, or is refused with the text that was typed.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "polyad/core/printable.hpp"

namespace polyad::cli {

/// The number type of an option's value: of a number itself, an optional one, or a list. void for other
/// values.
template <class T>
struct NumberIn {
  using type = std::conditional_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, T, void>;
};
template <class T>
struct NumberIn<std::optional<T>> : NumberIn<T> {};
template <class T>
struct NumberIn<std::vector<T>> : NumberIn<T> {};

/// Replaces a whole number by its plain digits. Returns the fault, or nothing.
template <class Integer>
std::string settle_whole_number(std::string& text) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  Integer value{};
  auto const [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size())
    return fmt::format("'{}' is not a whole number from {} to {}", printable(text),
                       std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
  text = std::to_string(value);
  return "";
}

/// Replaces a number by the shortest text of its nearest double. Returns the fault, or nothing.
std::string settle_number(std::string& text);

/// The number that these functions make of a text; nothing if there is none.
template <class Number>
std::optional<Number> typed_number(std::string text) {
  std::string fault;
  if constexpr (std::is_integral_v<Number>)
    fault = settle_whole_number<Number>(text);
  else
    fault = settle_number(text);
  if (!fault.empty()) return std::nullopt;
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Replaces bytes, such as 8000000000, 8G or 512 MiB, by their number. A K is 1024. Returns the fault, or
/// nothing.
std::string settle_bytes(std::string& text);

/// Checks the numbers of an option whose type has numbers. It runs before the other checks of the option,
/// since CLI11 runs transformations first.
template <class T>
void settle_numbers(CLI::Option& option) {
  using Number = typename NumberIn<T>::type;
  if constexpr (std::is_integral_v<Number>) option.transform(CLI::Validator(settle_whole_number<Number>, ""));
  if constexpr (std::is_floating_point_v<Number>) option.transform(CLI::Validator(settle_number, ""));
}

}  // namespace polyad::cli
