// SPDX-License-Identifier: BSD-3-Clause
// The rule by which a copy of `sorted` is cut into locality blocks on a device (sorted_copy.hpp). Free of
// Kokkos: the build and the cost model share it.
#pragma once

#include <cstdint>

namespace polyad::detail {

/// The rows in a block of the shortest other mode, which has `extent` rows; 0 for no blocks. `rows` rows of
/// the output occur. `hoists`: runs are so long that a factor's row is multiplied once per run.
///
/// Blocks pay if runs do not already save the gathers, and if the mode is far longer than a block. A block's
/// rows fit the first-level cache: 64 KiB of floats at R = 32, and twice the rows for double, whose atomics
/// cost more. Each row must still have some nonzeros in each block (docs/developer/decisions.md).
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
