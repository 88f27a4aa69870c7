// SPDX-License-Identifier: BSD-3-Clause
// When a copy of `sorted` is cut into locality blocks on a device (sorted_copy.hpp). Plain C++: what the
// build does, and what the cost model takes it to do.
#pragma once

#include <cstdint>

namespace polyad::detail {

/// Rows in a block of the shortest other mode, which has `extent`, for `rows` rows of the output that occur;
/// 0 for no blocks. `hoists`: runs are so long that a factor's row is multiplied once for each. Blocks pay
/// where no run spares the gathers, where the mode is far longer than what the first-level cache holds (64
/// KiB of floats at R = 32; twice the rows for double, whose atomics cost more). A row must still have
/// some nonzeros in each block (docs/design-notes.md).
[[nodiscard]] constexpr std::uint64_t locality_block_rows(std::uint64_t nnz, std::uint64_t rows,
                                                          std::uint64_t extent, bool hoists,
                                                          int scalar_bytes) {
  bool const is_float           = scalar_bytes == 4;
  std::uint64_t const rows_each = is_float ? 512 : 1024;
  std::uint64_t const row_share = is_float ? 3 : 6;
  std::uint64_t const blocks    = (extent + rows_each - 1) / rows_each;
  return blocks >= 8 && !hoists && nnz / blocks >= row_share * rows ? rows_each : 0;
}

}  // namespace polyad::detail
