// SPDX-License-Identifier: BSD-3-Clause
#include "io/quoted.hpp"

#include <algorithm>

namespace polyad::io {

namespace {

/// Bytes of the UTF-8 character at the beginning of `text`; 0 where there is none (RFC 3629, section 4).
std::size_t character_bytes(std::string_view text) {
  auto const byte         = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned const first    = byte(0);
  std::size_t const bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes == 0 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t k = 1; k < bytes; ++k)
    if ((byte(k) & 0xC0) != 0x80) return 0;
  // Longer than necessary, a surrogate, or beyond U+10FFFF.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F))
    return 0;
  return bytes;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  constexpr auto digits         = "0123456789ABCDEF";
  std::string result            = "'";
  for (std::size_t k = 0; k < std::min(longest, text.size());) {
    auto const byte         = static_cast<unsigned char>(text[k]);
    std::size_t const bytes = character_bytes(text.substr(k));
    if (text[k] == '\t') {
      result += "\\t";
    } else if (bytes == 0 || byte < 0x20 || byte == 0x7F) {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += text.substr(k, bytes);
    }
    k += std::max<std::size_t>(bytes, 1);
  }
  if (text.size() > longest) result += "...";
  return result + "'";
}

}  // namespace polyad::io
