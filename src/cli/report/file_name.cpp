// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report/file_name.hpp"

#include <algorithm>
#include <cstddef>

#include "polyad/core/printable.hpp"

namespace polyad::cli {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  bool const as_it_is = printable(word) == word;
  std::string result  = as_it_is ? "'" : "$'";
  while (!word.empty()) {
    std::string_view const character = word.substr(0, std::max<std::size_t>(character_bytes(word), 1));
    if (character == "'")
      result += as_it_is ? "'\\''" : "\\'";
    else if (character == "\\" && !as_it_is)
      result += "\\\\";
    else
      result += as_it_is ? std::string(character) : printable(character);
    word.remove_prefix(character.size());
  }
  return result + "'";
}

}  // namespace polyad::cli
