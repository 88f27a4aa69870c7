// SPDX-License-Identifier: BSD-3-Clause
// Words on a command line or on a line of a file, quoted as in CSV (RFC 4180) if they have to be.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polyad::cli {

struct Word {
  std::string text;
  bool is_quoted       = false;  // then * is a name like any other
  std::uint64_t column = 0;      // where it begins in the line, from 1

  /// Whether it is a star without quotes.
  [[nodiscard]] bool is_star() const { return !is_quoted && text == "*"; }
};

/// Splits a line at commas, which may have blanks around them; if `at_blanks` is set, at blanks as well.
/// Inside double quotes both belong to the word, and two quotes stand for one.
/// \throws UsageError for a quote that is not closed, or that is followed by more of the word
[[nodiscard]] std::vector<Word> split_words(std::string_view line, bool at_blanks);

/// The number that is all of the text, which has only digits and perhaps a minus.
template <class Integer>
[[nodiscard]] std::optional<Integer> whole_number(std::string_view text) {
  Integer number    = 0;
  auto const parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The text as split_words reads it back: in quotes if it is empty, a star, or has blanks, commas, quotes
/// or line ends, or begins with #.
[[nodiscard]] std::string quoted_if_needed(std::string_view text);

/// The word of the list that differs least from `typed` by letters left out, added, replaced or swapped
/// with their neighbour; the first of several. Empty if more than a third of the letters differ. Cases do
/// not differ.
[[nodiscard]] std::string nearest_word(std::string_view typed, std::vector<std::string> const& words);

}  // namespace polyad::cli
