// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

/// Doubles of at least this size are integers, and not all integers are doubles.
constexpr double first_decimal_gap = 0x1p53;

/// A decimal number as an integer without zeros at its ends, times a power of ten. Zero has no digits.
struct DecimalDigits {
  std::string digits;
  long long power                             = 0;
  bool operator==(DecimalDigits const&) const = default;
};

/// Reads a decimal number and ignores its sign. An exponent beyond the range of long long is replaced by its
/// largest number.
DecimalDigits digits_of(std::string_view text) {
  DecimalDigits number;
  if (text.starts_with('-')) text.remove_prefix(1);
  std::size_t const mark = std::min(text.find_first_of("eE"), text.size());
  bool point             = false;
  for (char const c : text.substr(0, mark)) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (c != '0' || !number.digits.empty()) number.digits += c;
    if (point) --number.power;
  }
  while (number.digits.ends_with('0')) {
    number.digits.pop_back();
    ++number.power;
  }
  if (number.digits.empty()) return {};
  if (mark < text.size()) {
    std::string_view const exponent = without_plus(text.substr(mark + 1));
    constexpr long long far         = 1'000'000'000'000'000'000;
    long long shift                 = 0;
    auto const [end, code] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
    if (code == std::errc::result_out_of_range) shift = exponent.starts_with('-') ? -far : far;
    number.power += std::clamp(shift, -far, far);
  }
  return number;
}

/// Whether a number that does not fit a double is too large, rather than too close to zero.
bool exceeds_one(DecimalDigits const& number) {
  return number.power + static_cast<long long>(number.digits.size()) > 0;
}

/// Whether the number is `value`, which is an integer.
bool is_exactly(DecimalDigits const& number, double value) {
  std::array<char, 320> text{};  // the largest double has 309 digits
  auto const [end, code] =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::fixed, 0);
  return code == std::errc{} && number == digits_of({text.data(), end});
}

}  // namespace

DecimalFault read_decimal(std::string_view token, bool integer, double& value) {
  token                  = without_plus(token);
  char const* const last = token.data() + token.size();
  auto const [end, code] = std::from_chars(token.data(), last, value);
  if (code == std::errc::invalid_argument || end != last) return DecimalFault::not_a_number;
  bool const plain = token.find_first_not_of("-0123456789") == std::string_view::npos;
  if (code == std::errc{} && value != 0 && !(std::abs(value) >= first_decimal_gap && (plain || integer)))
    return DecimalFault::none;
  if (code == std::errc{} && !std::isfinite(value)) return DecimalFault::none;  // "inf", "nan"
  DecimalDigits const number = digits_of(token);
  if (number.digits.empty()) {
    value = token.starts_with('-') ? -0.0 : 0.0;
    return DecimalFault::none;
  }
  if (code == std::errc::result_out_of_range)
    return exceeds_one(number) ? DecimalFault::too_large : DecimalFault::too_small;
  if (value == 0) return DecimalFault::too_small;
  return is_exactly(number, value) ? DecimalFault::none : DecimalFault::not_that_integer;
}

std::string_view to_string(DecimalFault fault) noexcept {
  switch (fault) {
    case DecimalFault::none:
      return "is a number";
    case DecimalFault::not_a_number:
      return "is not a number";
    case DecimalFault::too_large:
      return "exceeds the range of a double";
    case DecimalFault::too_small:
      return "is not zero, but closer to it than any double";
    case DecimalFault::not_that_integer:
      return "is an integer beyond 2^53 that no double equals";
  }
  return "?";
}

}  // namespace polyad::io
