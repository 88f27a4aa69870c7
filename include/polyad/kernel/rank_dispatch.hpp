// SPDX-License-Identifier: BSD-3-Clause
// The one table from the rank R to the blocks of columns that kernels are compiled for (GenTen, Table 4).
//
// A row of R columns is covered by R / 32 blocks of 32 columns and one narrower block for what is left:
// 32 columns are one TinyVec of 8 x float4 or 16 x double2 on a device and at most 8 registers on a host.
// Wider blocks were slower on the H200 (8 floats a lane lost 6 to 40 %), narrower ones read the nonzeros
// more often.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

/// The widest block of columns, and the blocks for what is left of R after it.
inline constexpr int full_block = 32;

/// Equal blocks side by side: `count` blocks of the dispatched width, the first at column `first`.
struct ColumnBlocks {
  int first;
  int count;
  int rank;  // R: the last block may be cut off there
};

/// Calls f(std::integral_constant<int, Block>, ColumnBlocks) once for the full blocks and once for the
/// rest, at most two calls (two launches) for any R >= 1.
template <class F>
void for_each_column_block(int rank, F&& f) {
  int const full = rank / full_block;
  int const rest = rank % full_block;
  if (full > 0) f(std::integral_constant<int, full_block>{}, ColumnBlocks{0, full, rank});
  ColumnBlocks const tail{full * full_block, 1, rank};
  if (rest > 16)
    f(std::integral_constant<int, 32>{}, tail);
  else if (rest > 8)
    f(std::integral_constant<int, 16>{}, tail);
  else if (rest > 4)
    f(std::integral_constant<int, 8>{}, tail);
  else if (rest > 0)
    f(std::integral_constant<int, 4>{}, tail);
}

}  // namespace polyad
