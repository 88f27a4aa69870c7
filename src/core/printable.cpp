// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/printable.hpp"

#include <algorithm>
#include <cstddef>

namespace polyad {

namespace {

/// Whether a character is a control character: below a blank, DEL, or U+0080 to U+009F.
bool is_control(std::string_view character) {
  auto const first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

}  // namespace

// RFC 3629, section 4.
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

std::string printable(std::string_view text) {
  constexpr auto digits = "0123456789ABCDEF";
  std::string result;
  while (!text.empty()) {
    std::size_t const bytes          = character_bytes(text);
    std::string_view const character = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (character == "\t") {
      result += "\\t";
    } else if (bytes == 0 || is_control(character)) {
      for (char const c : character) {
        auto const byte = static_cast<unsigned char>(c);
        result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace polyad
