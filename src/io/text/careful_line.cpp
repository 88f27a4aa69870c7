// SPDX-License-Identifier: BSD-3-Clause
// The careful path of the line parser: every form that is allowed, and the message for every fault.
#include <charconv>
#include <cmath>
#include <system_error>

#include "io/quoted.hpp"
#include "io/text/decimal.hpp"
#include "io/text/line_parser.hpp"
#include "io/text/matrix_market.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

std::string index_name(int n) {
  return "index " + std::to_string(n + 1);
}

/// The reason why `token` cannot be index n, or nothing.
std::optional<std::string> read_index(std::string_view token, int n, LineRules const& rules,
                                      std::uint64_t& index) {
  if (auto reason = read_unsigned(token, index_name(n), index)) return reason;
  if (index == 0 && rules.index_base == 1)
    return index_name(n) + " is below 1, the index base: " + in_quotes(token);
  std::uint64_t const limit = rules.limits[n];
  if (index > limit)
    return index_name(n) + " is beyond the extent " + std::to_string(limit) + ": " + in_quotes(token);
  return std::nullopt;
}

/// The fault of an index that is the largest one for base 1, if the base turns out to be 0.
std::string beyond_from_zero(std::string_view token, int n, LineRules const& rules) {
  std::uint64_t const limit = rules.limits[n];
  if (limit == no_limit) return index_name(n) + " counted from 0 makes the extent 2^64: " + in_quotes(token);
  return index_name(n) + " counted from 0 is beyond the extent " + std::to_string(limit) + ": " +
         in_quotes(token);
}

/// "2,5"
bool has_decimal_comma(std::string_view token) {
  std::string text(without_plus(token));
  auto const comma = text.find(',');
  if (comma == std::string::npos) return false;
  text[comma]  = '.';
  double value = 0;
  return read_decimal(text, false, value) != DecimalFault::not_a_number;
}

std::optional<std::string> read_value(std::string_view token, LineRules const& rules, double& value) {
  if (auto const fault = read_decimal(token, rules.integer_values, value); fault != DecimalFault::none)
    return "the value " + std::string(to_string(fault)) + ": " + in_quotes(token) +
           (fault == DecimalFault::not_that_integer && !rules.integer_values
                ? "; with a point after its digits it is rounded"
            : fault == DecimalFault::not_a_number && has_decimal_comma(token) ? "; decimals have a point"
                                                                              : "");
  if (!rules.allow_non_finite && !std::isfinite(value)) return "the value is not finite: " + in_quotes(token);
  if (rules.integer_values && std::trunc(value) != value)
    return "the value is not an integer, which the header promises: " + in_quotes(token);
  return std::nullopt;
}

/// The fault in the number of tokens on a line, or nothing.
std::optional<Fault> check_count(std::string_view line, LineRules const& rules) {
  int const wanted      = rules.order + (rules.has_value ? 1 : 0);
  std::string_view rest = line;
  std::string_view one_too_many;
  int count = 0;
  for (std::string_view token = take_token(rest); !token.empty(); token = take_token(rest))
    if (++count == wanted + 1) one_too_many = token;
  if (count == wanted && rules.order >= 1 && rules.order <= most_modes) return std::nullopt;
  std::string const found = "found " + std::to_string(count) + ": " + in_quotes(line);
  if (rules.order < 1) return Fault{0, line.size() + 1, "expected at least one index and a value, " + found};
  if (rules.order > most_modes)
    return Fault{0, 1, "expected at most " + std::to_string(most_modes) + " indices and a value, " + found};
  std::uint64_t const column = one_too_many.empty()
                                   ? line.size() + 1
                                   : static_cast<std::uint64_t>(one_too_many.data() - line.data()) + 1;
  return Fault{0, column,
               "expected " + std::to_string(wanted) + " numbers (" + std::to_string(rules.order) +
                   (rules.order == 1 ? " index" : " indices") + (rules.has_value ? " and a value" : "") +
                   "), " + found};
}

}  // namespace

std::optional<std::string> read_unsigned(std::string_view token, std::string const& name,
                                         std::uint64_t& value) {
  std::string_view const digits = without_plus(token);
  char const* const last        = digits.data() + digits.size();
  auto const [end, code]        = std::from_chars(digits.data(), last, value);
  if (end != last || code == std::errc::invalid_argument) {
    double number = 0;
    if (read_decimal(token, false, number) == DecimalFault::not_a_number || !std::isfinite(number))
      return name + " is not a number: " + in_quotes(token);
    if (token.starts_with('-')) return name + " is negative: " + in_quotes(token);
    return name + " is not an integer: " + in_quotes(token);
  }
  if (code == std::errc::result_out_of_range) return name + " exceeds 2^64 - 1: " + in_quotes(token);
  return std::nullopt;
}

CarefulLine parse_line_carefully(std::string_view line, LineRules const& rules) {
  CarefulLine result;
  line                   = without_return(line);
  std::string_view rest  = line;
  std::string_view token = take_token(rest);
  if (holds_nothing(token)) {
    if (looks_like_banner(line)) result.fault = Fault{0, 1, misplaced_banner(line)};
    return result;
  }
  result.has_data = true;
  result.value    = 1;  // the value of a pattern, which stores none
  result.fault    = check_count(line, rules);
  for (int n = 0; n < rules.order + (rules.has_value ? 1 : 0) && !result.fault;
       ++n, token = take_token(rest)) {
    auto const column      = static_cast<std::uint64_t>(token.data() - line.data()) + 1;
    std::size_t const mode = n;
    auto reason            = n < rules.order ? read_index(token, n, rules, result.indices[mode])
                                             : read_value(token, rules, result.value);
    if (reason) {
      result.fault = Fault{0, column, std::move(*reason)};
    } else if (n < rules.order && !result.last_index && result.indices[mode] == rules.limits[mode] &&
               rules.index_base != 1) {
      Fault beyond{0, column, beyond_from_zero(token, n, rules)};
      if (rules.index_base == 0) {
        result.fault = std::move(beyond);
      } else {
        result.last_index = std::move(beyond);
      }
    } else if (n == 1 && !rules.may_stand_at(result.indices[0], result.indices[1])) {
      result.fault = Fault{0, column,
                           std::string("lies ") + (result.indices[0] == result.indices[1] ? "on" : "above") +
                               " the diagonal of a " + (rules.symmetry == Symmetry::skew ? "skew-" : "") +
                               "symmetric matrix, which lists what is below: " + in_quotes(line)};
    }
  }
  return result;
}

}  // namespace polyad::io
