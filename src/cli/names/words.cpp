// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/words.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "polyad/core/error.hpp"

namespace polyad::cli {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Takes one word off the front of the text from `at` on.
Word take_word(std::string_view line, std::size_t& at, bool at_blanks) {
  Word word;
  word.column = at + 1;
  if (at < line.size() && line[at] == '"') {
    word.is_quoted = true;
    for (++at;; ++at) {
      if (at == line.size()) throw UsageError("has a quote that is not closed: " + std::string(line));
      if (line[at] != '"') {
        word.text += line[at];
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        word.text += line[at++];
      } else {
        break;
      }
    }
    ++at;
    if (at < line.size() && line[at] != ',' && !is_blank(line[at]))
      throw UsageError("has a quote in the middle of a word: " + std::string(line));
    return word;
  }
  while (at < line.size() && line[at] != ',' && !(at_blanks && is_blank(line[at]))) word.text += line[at++];
  while (!word.text.empty() && is_blank(word.text.back())) word.text.pop_back();
  return word;
}

/// The least number of changes that make a of b (Damerau's, each letter changed once at most).
std::size_t distance(std::string_view a, std::string_view b) {
  auto const same = [&](std::size_t i, std::size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::vector<std::size_t>> changes(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i <= a.size(); ++i) changes[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) changes[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      changes[i][j] = std::min({changes[i - 1][j] + 1, changes[i][j - 1] + 1,
                                changes[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
    }
  return changes[a.size()][b.size()];
}

}  // namespace

std::vector<Word> split_words(std::string_view line, bool at_blanks) {
  std::vector<Word> words;
  std::size_t at         = 0;
  auto const skip_blanks = [&] {
    while (at < line.size() && is_blank(line[at])) ++at;
  };
  skip_blanks();
  if (at == line.size()) return words;
  for (;;) {
    words.push_back(take_word(line, at, at_blanks));
    skip_blanks();
    if (at == line.size()) return words;
    if (line[at] != ',') {
      if (!at_blanks) throw UsageError("has words without a comma between them: " + std::string(line));
      continue;
    }
    ++at;
    skip_blanks();
  }
}

std::string quoted_if_needed(std::string_view text) {
  bool const is_plain = !text.empty() && text != "*" && text[0] != '#' &&
                        text.find_first_of(" \t\r\n,\"") == std::string_view::npos;
  if (is_plain) return std::string(text);
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

std::string nearest_word(std::string_view typed, std::vector<std::string> const& words) {
  constexpr std::size_t longest = 40;  // the time grows with the square of the length
  if (typed.size() > longest) return "";
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (auto const& word : words)
    if (auto const changes = distance(typed, word); changes < least) {
      least   = changes;
      nearest = word;
    }
  return nearest;
}

}  // namespace polyad::cli
