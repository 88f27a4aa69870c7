// SPDX-License-Identifier: BSD-3-Clause
// The names of modes and the labels of their rows: 'alice' instead of row 0 of the mode 'user'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polyad::io {

/// The labels of one mode.
struct ModeLabels {
  std::string name                = {};  // the name of the mode; empty: it has none
  std::string bytes               = {};  // the labels of all rows, one after the other, in UTF-8
  std::vector<std::uint64_t> ends = {};  // where each row's label ends in `bytes`; empty: rows have no labels
  bool is_text                    = false;  // the labels are text, even if all of them read as integers

  [[nodiscard]] bool has_rows() const noexcept { return !ends.empty(); }
  [[nodiscard]] std::size_t rows() const noexcept { return ends.size(); }
  /// The label of a row, which counts from 0 and is less than rows().
  [[nodiscard]] std::string_view label(std::size_t row) const noexcept {
    std::uint64_t const begin = row == 0 ? 0 : ends[row - 1];
    return std::string_view(bytes).substr(begin, ends[row] - begin);
  }
  void add(std::string_view label) {
    bytes += label;
    ends.push_back(bytes.size());
  }
  friend bool operator==(ModeLabels const&, ModeLabels const&) = default;
};

/// The labels of a tensor or a model: one entry for each mode, or none at all if nothing is named.
using Labels = std::vector<ModeLabels>;

/// The names of the rows of a tensor or a model: their labels or, in modes without labels, numbers.
struct RowNames {
  int index_base = -1;  // the number of the first row of each mode, 0 or 1; -1: it is not known
  Labels labels  = {};
  friend bool operator==(RowNames const&, RowNames const&) = default;
};

}  // namespace polyad::io
