// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/matrix_market.hpp"

#include <algorithm>
#include <cctype>

#include "io/quoted.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

bool same_letters(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(), [](char a, char b) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(a))) == b;
  });
}

}  // namespace

bool begins_with_banner(std::string_view line) {
  constexpr std::size_t marks = 2;
  std::string_view const word = line.substr(0, matrix_market_banner.size());
  return word.starts_with("%%") && same_letters(word.substr(marks), "matrixmarket");
}

bool looks_like_banner(std::string_view line) {
  std::size_t const begin      = std::min(line.find_first_not_of("%#/ \t"), line.size());
  std::string_view const marks = line.substr(0, begin);
  std::string_view rest        = line.substr(begin);
  if (!same_letters(take_token(rest), "matrixmarket")) return false;
  if (marks.ends_with('%')) return true;
  // A comment may be about Matrix Market, but it does not continue like a header.
  std::string_view const object = take_token(rest);
  return same_letters(object, "matrix") || same_letters(object, "vector");
}

std::string misplaced_banner(std::string_view line) {
  return "looks like the header of a Matrix Market file, which is the first line and begins with "
         "'%%MatrixMarket': " +
         in_quotes(line);
}

bool is_named_matrix_market(std::string_view file) {
  for (auto const ending : {".gz"sv, ".xz"sv, ".zst"sv})
    if (file.size() > ending.size() && same_letters(file.substr(file.size() - ending.size()), ending)) {
      file.remove_suffix(ending.size());
      break;
    }
  return file.size() >= 4 && same_letters(file.substr(file.size() - 4), ".mtx");
}

std::string missing_banner(PossibleSizes const& sizes) {
  return "looks like the sizes of a Matrix Market file, " + std::to_string(sizes.rows) + " x " +
         std::to_string(sizes.columns) + " with " + std::to_string(sizes.entries) +
         " entries, but its header is missing: put '%%MatrixMarket matrix coordinate real general' in front. "
         "If the line is an entry, put the lines '2' and '" +
         std::to_string(sizes.rows) + " " + std::to_string(sizes.columns) +
         "' in front (docs/file-formats.md)";
}

}  // namespace polyad::io
