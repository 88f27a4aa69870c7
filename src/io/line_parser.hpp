// SPDX-License-Identifier: BSD-3-Clause
// Parses blocks of coordinate lines: `order` indices and a value a line. Two paths: a short one for plain
// lines of digits, which nearly all are, and a careful one that takes any line, decides what is wrong with
// it and is the only one that reports faults. Both give the same numbers to the last bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "slab.hpp"
#include "text_blocks.hpp"

namespace polyad::io {

inline constexpr int most_modes = 16;

/// What the lines of a file must look like.
struct LineRules {
  int order;       // one less than the numbers on the first line; may be out of range: that line is refused
  int index_base;  // 0, 1, or -1: not known yet
  bool allow_non_finite;
};

/// Something wrong in a block; line and column count from 1, the line within the block.
struct Fault {
  std::uint64_t line   = 0;
  std::uint64_t column = 0;
  std::string reason;
};

/// The numbers of one block, indices as they stand in the text.
struct ParsedBlock {
  std::variant<Piece<std::uint32_t>, Piece<std::uint64_t>> indices;
  Piece<double> values;
  std::uint64_t lines = 0;
  std::array<std::uint64_t, most_modes> largest{};
  bool has_index_zero = false;
  std::optional<Fault> fault;
  /// The first index of 2^64 - 1: a fault only if the base turns out to be 0.
  std::optional<Fault> last_index;
};

/// Numbers on the first line that holds any, less one; nothing when all lines are empty or comments.
[[nodiscard]] std::optional<int> find_order(std::string_view text);

/// Parses until the end of the block or its first fault. The numbers lie in memory of `slabs`.
[[nodiscard]] ParsedBlock parse_block(TextBlock const& block, LineRules const& rules, SlabAllocator& slabs);

/// One data line, comment or empty line, without its line end, checked in every respect.
struct CarefulLine {
  bool has_data = false;
  std::array<std::uint64_t, most_modes> indices{};
  double value = 0;
  std::optional<Fault> fault;       // its line is not set
  std::optional<Fault> last_index;  // likewise
};
[[nodiscard]] CarefulLine parse_line_carefully(std::string_view line, LineRules const& rules);

}  // namespace polyad::io
