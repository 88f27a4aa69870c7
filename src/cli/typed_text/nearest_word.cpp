// SPDX-License-Identifier: BSD-3-Clause
#include "cli/typed_text/nearest_word.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace polyad::cli {

namespace {

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
