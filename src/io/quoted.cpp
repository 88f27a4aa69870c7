// SPDX-License-Identifier: BSD-3-Clause
#include "io/quoted.hpp"

namespace polyad::io {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  constexpr auto digits         = "0123456789ABCDEF";
  std::string result            = "'";
  for (char const c : text.substr(0, longest)) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += c;
    }
  }
  if (text.size() > longest) result += "...";
  return result + "'";
}

}  // namespace polyad::io
