// SPDX-License-Identifier: BSD-3-Clause
// The widths of the blocks of columns by the registers of a host. Free of Kokkos: the cost model counts the
// passes over the nonzeros, too.
#pragma once

#include <algorithm>

namespace polyad {

/// The widths of for_each_wide_block (kernel/rank_dispatch.hpp): of the full blocks, and at most of the last.
struct WideBlocks {
  int full = 32;
  int last = 32;

  /// The number of full blocks of a row of R columns. What is left is the last block, if anything.
  [[nodiscard]] constexpr int full_blocks(int rank) const {
    int const blocks = rank > last ? (rank - last + full - 1) / full : 0;
    return rank - blocks * full == full ? blocks + 1 : blocks;
  }
  /// The passes over the nonzeros.
  [[nodiscard]] constexpr int passes(int rank) const {
    int const blocks = full_blocks(rank);
    return blocks * full < rank ? blocks + 1 : blocks;
  }
};

/// A walk needs registers for a row's sum, for a product and for operands. So a row takes a quarter of
/// the machine's registers (AVX2 has 16, AVX-512 and NEON have 32), and the last block up to seven
/// sixteenths if that saves a pass over the nonzeros: 25 doubles take seven of AVX2's registers, and one
/// pass took 6.6 ms where two took 9.8 (b-csf). With 32 doubles and AVX2, R = 32 took longer than two
/// passes: 40 ms instead of 31 (b-csf).
/// \param simd_bytes  of a register; 1 means a host without SIMD
[[nodiscard]] constexpr WideBlocks wide_blocks(int simd_bytes, int scalar_bytes) {
  if (simd_bytes < 16) return {};
  int const registers = simd_bytes == 32 ? 16 : 32;
  int const columns   = simd_bytes / scalar_bytes;  // in a register
  return {std::min(64, registers / 4 * columns), std::min(64, registers * 7 / 16 * columns)};
}

}  // namespace polyad
