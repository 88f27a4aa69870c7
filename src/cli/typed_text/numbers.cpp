// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/numbers.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace polyad::cli {

namespace {

/// A number from the beginning of the text, and where it ends; nothing if there is none or it fits no double.
struct Leading {
  double value;
  std::size_t end;
};
std::optional<Leading> leading_number(std::string_view text) {
  std::size_t const sign = text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0;
  double value           = 0;
  auto const [end, code] = std::from_chars(text.data() + sign, text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;
  std::string_view const digits =
      text.substr(0, std::min(text.find_first_of("eE"), static_cast<std::size_t>(end - text.data())));
  if (value == 0 && digits.find_first_of("123456789") != std::string_view::npos) return std::nullopt;
  return Leading{value, static_cast<std::size_t>(end - text.data())};
}

}  // namespace

std::string settle_number(std::string& text) {
  auto const number = leading_number(text);
  if (!number || number->end != text.size())
    return fmt::format("'{}' is not a number in the range of a double", printable(text));
  std::array<char, 32> shortest{};
  auto const end = std::to_chars(shortest.data(), shortest.data() + shortest.size(), number->value).ptr;
  text.assign(shortest.data(), end);
  return "";
}

std::string settle_bytes(std::string& text) {
  auto const fault      = fmt::format("takes bytes such as 8G, not '{}'", printable(text));
  std::size_t const end = std::min(text.find_first_not_of("+0123456789"), text.size());
  auto const number     = typed_number<std::uint64_t>(text.substr(0, end));
  if (!number) return fault;
  std::uint64_t bytes = *number;
  std::string unit;
  for (char const c : std::string_view(text).substr(end))
    if (c != ' ') unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit.ends_with('B')) unit.pop_back();
  if (unit.ends_with('I') && unit.size() == 2) unit.pop_back();
  if (!unit.empty()) {
    constexpr std::string_view prefixes = "KMGTPE";
    auto const power                    = unit.size() == 1 ? prefixes.find(unit[0]) : std::string_view::npos;
    if (power == std::string_view::npos) return fault;
    if (__builtin_mul_overflow(bytes, std::uint64_t{1} << 10 * (power + 1), &bytes)) return fault;
  }
  text = std::to_string(bytes);
  return "";
}

}  // namespace polyad::cli
