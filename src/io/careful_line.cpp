// SPDX-License-Identifier: BSD-3-Clause
// The careful path of the line parser: every form that is allowed, and the words for every fault.
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "line_parser.hpp"
#include "quoted.hpp"

namespace polyad::io {

namespace {

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Without the CR of a CRLF line end.
std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Takes the next token off the front of `rest`; empty when none is left.
std::string_view take_token(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  std::string_view const token = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return token;
}

/// from_chars knows no leading plus.
std::string_view without_plus(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+') token.remove_prefix(1);
  return token;
}

enum class Number { valid, not_a_number, too_large };

/// Whether a decimal number that does not fit a double is too large, rather than too close to zero: looks
/// at the power of ten of its first digit that is not 0.
bool exceeds_one(std::string_view text) {
  long long power = -1;
  bool point = false, leading = true;
  std::size_t k = text.starts_with('-') ? 1 : 0;
  for (; k < text.size() && (is_digit(text[k]) || text[k] == '.'); ++k) {
    if (text[k] == '.') {
      point = true;
    } else {
      if (leading && point && text[k] == '0') --power;
      if (text[k] != '0') leading = false;
      if (!leading && !point) ++power;
    }
  }
  if (k < text.size()) {
    std::string_view exponent = without_plus(text.substr(k + 1));
    long long shift           = 0;
    auto const [end, code]    = std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
    if (code == std::errc::result_out_of_range) return !exponent.starts_with('-');
    power += shift;
  }
  return power >= 0;
}

Number to_double(std::string_view token, double& value) {
  token                  = without_plus(token);
  char const* const last = token.data() + token.size();
  auto const [end, code] = std::from_chars(token.data(), last, value);
  if (code == std::errc::invalid_argument || end != last) return Number::not_a_number;
  if (code == std::errc::result_out_of_range) {
    if (exceeds_one(token)) return Number::too_large;
    value = token.starts_with('-') ? -0.0 : 0.0;
  }
  return Number::valid;
}

std::string index_name(int n) {
  return "index " + std::to_string(n + 1);
}

/// The reason why `token` cannot be index n, or nothing.
std::optional<std::string> read_index(std::string_view token, int n, LineRules const& rules,
                                      std::uint64_t& index) {
  std::string_view const digits = without_plus(token);
  char const* const last        = digits.data() + digits.size();
  auto const [end, code]        = std::from_chars(digits.data(), last, index);
  if (end != last || code == std::errc::invalid_argument) {
    double number = 0;
    if (to_double(token, number) == Number::not_a_number || !std::isfinite(number))
      return index_name(n) + " is not a number: " + in_quotes(token);
    if (token.starts_with('-')) return index_name(n) + " is negative: " + in_quotes(token);
    return index_name(n) + " is not an integer: " + in_quotes(token);
  }
  if (code == std::errc::result_out_of_range) return index_name(n) + " exceeds 2^64 - 1: " + in_quotes(token);
  if (index == 0 && rules.index_base == 1)
    return index_name(n) + " is below 1, the index base: " + in_quotes(token);
  return std::nullopt;
}

std::optional<std::string> read_value(std::string_view token, LineRules const& rules, double& value) {
  switch (to_double(token, value)) {
    case Number::not_a_number:
      return "the value is not a number: " + in_quotes(token);
    case Number::too_large:
      return "the value exceeds the range of a double: " + in_quotes(token);
    case Number::valid:
      break;
  }
  if (!rules.allow_non_finite && !std::isfinite(value)) return "the value is not finite: " + in_quotes(token);
  return std::nullopt;
}

/// What is wrong with the number of tokens on a line, or nothing.
std::optional<Fault> check_count(std::string_view line, LineRules const& rules) {
  std::string_view rest = line;
  std::string_view one_too_many;
  int count = 0;
  for (std::string_view token = take_token(rest); !token.empty(); token = take_token(rest))
    if (++count == rules.order + 2) one_too_many = token;
  std::string const found = "found " + std::to_string(count) + ": " + in_quotes(line);
  if (rules.order < 1) return Fault{0, line.size() + 1, "expected at least one index and a value, " + found};
  if (rules.order > most_modes)
    return Fault{0, 1, "expected at most " + std::to_string(most_modes) + " indices and a value, " + found};
  if (count == rules.order + 1) return std::nullopt;
  std::uint64_t const column = one_too_many.empty()
                                   ? line.size() + 1
                                   : static_cast<std::uint64_t>(one_too_many.data() - line.data()) + 1;
  return Fault{0, column,
               "expected " + std::to_string(rules.order + 1) + " numbers (" + std::to_string(rules.order) +
                   (rules.order == 1 ? " index" : " indices") + " and a value), " + found};
}

}  // namespace

std::optional<int> find_order(std::string_view text) {
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string_view rest = without_return(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::string_view token = take_token(rest);
    if (token.empty() || token[0] == '#') continue;
    int count = 0;
    for (; !token.empty(); token = take_token(rest)) ++count;
    return count - 1;
  }
  return std::nullopt;
}

CarefulLine parse_line_carefully(std::string_view line, LineRules const& rules) {
  CarefulLine result;
  line                   = without_return(line);
  std::string_view rest  = line;
  std::string_view token = take_token(rest);
  if (token.empty() || token[0] == '#') return result;
  result.has_data = true;
  result.fault    = check_count(line, rules);
  for (int n = 0; n <= rules.order && !result.fault; ++n, token = take_token(rest)) {
    auto const column = static_cast<std::uint64_t>(token.data() - line.data()) + 1;
    auto const mode   = static_cast<std::size_t>(n);
    auto reason       = n < rules.order ? read_index(token, n, rules, result.indices[mode])
                                        : read_value(token, rules, result.value);
    if (reason) {
      result.fault = Fault{0, column, std::move(*reason)};
    } else if (n < rules.order && !result.last_index &&
               result.indices[mode] == std::numeric_limits<std::uint64_t>::max()) {
      Fault beyond{0, column, index_name(n) + " counted from 0 makes the extent 2^64: " + in_quotes(token)};
      if (rules.index_base == 0) {
        result.fault = std::move(beyond);
      } else {
        result.last_index = std::move(beyond);
      }
    }
  }
  return result;
}

}  // namespace polyad::io
