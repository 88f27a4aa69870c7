// SPDX-License-Identifier: BSD-3-Clause
#include "io/names/row_names.hpp"

#include <algorithm>
#include <string>

#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::io {

namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t const bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

void expect_names_fit(RowNames const& names, std::vector<std::uint64_t> const& extents) {
  if (names.index_base < -1 || names.index_base > 1)
    throw UsageError("the index base is 0 or 1, not " + std::to_string(names.index_base));
  if (names.labels.empty()) return;
  if (names.labels.size() != extents.size())
    throw UsageError("labels of " + std::to_string(names.labels.size()) + " modes for " +
                     std::to_string(extents.size()) + " modes");
  for (std::size_t n = 0; n < extents.size(); ++n) {
    auto const& mode = names.labels[n];
    if (mode.has_rows() && mode.rows() != extents[n])
      throw UsageError(std::to_string(mode.rows()) + " labels for the " + std::to_string(extents[n]) +
                       " rows of mode " + std::to_string(n));
  }
}

bool holds_names(Labels const& labels) {
  return std::any_of(labels.begin(), labels.end(), [](ModeLabels const& mode) {
    return !mode.name.empty() || mode.has_rows() || mode.is_text;
  });
}

bool do_ends_fit(std::string_view bytes, std::vector<std::uint64_t> const& ends) {
  return std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends.back()) == bytes.size();
}

bool are_utf8(std::string_view bytes, std::vector<std::uint64_t> const& ends) {
  std::uint64_t begin = 0;
  return std::all_of(ends.begin(), ends.end(), [&](std::uint64_t end) {
    std::string_view const text = bytes.substr(begin, end - begin);
    begin                       = end;
    return is_utf8(text);
  });
}

}  // namespace polyad::io
