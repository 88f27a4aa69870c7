// SPDX-License-Identifier: BSD-3-Clause
// Words on a line of text; the parsers of lines and of headers use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace polyad::io {

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The line without the CR of a CRLF line end.
constexpr std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Removes the next token from the front of `rest`; empty if none is left.
constexpr std::string_view take_token(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  std::string_view const token = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return token;
}

constexpr int count_tokens(std::string_view line) {
  int count = 0;
  while (!take_token(line).empty()) ++count;
  return count;
}

/// Whether a line that begins with `token` has no content: it is empty, or a comment of one of the dialects.
constexpr bool holds_nothing(std::string_view token) {
  return token.empty() || token[0] == '#' || token[0] == '%' || token.starts_with("//");
}

/// The token without a leading plus, which from_chars does not accept.
constexpr std::string_view without_plus(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+') token.remove_prefix(1);
  return token;
}

/// Says why `token` is not a number from 0 to 2^64 - 1, or nothing if it is. `name` begins the reason: "index
/// 2".
[[nodiscard]] std::optional<std::string> read_unsigned(std::string_view token, std::string const& name,
                                                       std::uint64_t& value);

}  // namespace polyad::io
