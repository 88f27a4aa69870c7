// SPDX-License-Identifier: BSD-3-Clause
// Signs of Matrix Market files whose header is missing or damaged. Its '%' makes a line a comment in every
// dialect, so that the line of sizes would be read as a nonzero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace polyad::io {

inline constexpr std::string_view matrix_market_banner = "%%MatrixMarket";

/// Whether a line begins as the first line of a Matrix Market file does, in letters of any case.
[[nodiscard]] bool begins_with_banner(std::string_view line);

/// Whether a line looks like "%%MatrixMarket matrix coordinate ...", with any number of % and blanks before
/// it.
[[nodiscard]] bool looks_like_banner(std::string_view line);

/// The fault of such a line that is not the first, or does not begin with two %.
[[nodiscard]] std::string misplaced_banner(std::string_view line);

/// Three whole numbers on the first line of a text without a header: an entry, or the sizes of a matrix.
struct PossibleSizes {
  std::uint64_t rows, columns, entries;
  std::uint64_t line;
  bool after_percent;  // comments with a %, as Matrix Market has them, come before it
};

/// Whether a file's name ends with .mtx, perhaps followed by the ending of a compression.
[[nodiscard]] bool is_named_matrix_market(std::string_view file);

/// The fault of a line of sizes without a header before it.
[[nodiscard]] std::string missing_banner(PossibleSizes const& sizes);

}  // namespace polyad::io
