// SPDX-License-Identifier: BSD-3-Clause
// Parses blocks of coordinate lines: `order` indices and a value per line. There are two paths. The short
// path handles plain lines of digits, as nearly all lines are. The careful path handles any line, and it
// alone reports faults. Both give the same numbers to the last bit.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "io/memory/slab.hpp"
#include "io/text/text_blocks.hpp"

namespace polyad::io {

inline constexpr int most_modes = 16;

/// The limit of an index whose extent nothing declares.
inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// The symmetry of a matrix: its file omits the entries that follow from it.
enum class Symmetry { none, symmetric, skew };

/// The rules for the lines of a file.
struct LineRules {
  int order;       // without a header, one less than the numbers of a line; refused later if out of range
  int index_base;  // 0, 1, or -1: not known yet
  bool allow_non_finite;
  bool has_value      = true;   // false: a pattern, whose values are 1
  bool integer_values = false;  // as Matrix Market's header may promise
  Symmetry symmetry   = Symmetry::none;
  /// The largest index of each mode that base 1 allows: the declared extents, or no_limit.
  std::array<std::uint64_t, most_modes> limits = unlimited();

  /// Whether a symmetric matrix lists the entry of row i and column j.
  [[nodiscard]] bool may_stand_at(std::uint64_t i, std::uint64_t j) const noexcept {
    return symmetry == Symmetry::none || i > j || (i == j && symmetry == Symmetry::symmetric);
  }

  static constexpr std::array<std::uint64_t, most_modes> unlimited() {
    std::array<std::uint64_t, most_modes> limits{};
    limits.fill(no_limit);
    return limits;
  }
};

/// A fault in a block; line and column count from 1, the line from the beginning of the block.
struct Fault {
  std::uint64_t line   = 0;
  std::uint64_t column = 0;
  std::string reason;
};

/// The numbers of one block, with the indices as written in the text.
struct ParsedBlock {
  std::variant<Piece<std::uint32_t>, Piece<std::uint64_t>> indices;
  Piece<double> values;
  std::uint64_t lines = 0;
  std::array<std::uint64_t, most_modes> largest{};
  bool has_index_zero = false;
  std::optional<Fault> fault;
  /// The first index at its limit. It is a fault only if the base turns out to be 0.
  std::optional<Fault> last_index;
};

/// Parses until the end of the block or its first fault. The numbers are stored in memory of `slabs`.
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
