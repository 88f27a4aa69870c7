// SPDX-License-Identifier: BSD-3-Clause
// The one table from the rank R to the blocks of columns that kernels are compiled for (GenTen, Table 4).
//
// A row of up to 32 columns is one block. A longer row consists of blocks of 32 columns on a device, and the
// last one is cut off at column R. On a host a row has R / 32 blocks of 32 columns and one narrower block for
// what is left, of which column R cuts off fewer than eight columns.
// A block's 32 columns are one TinyVec of 8 x float4 or 16 x double2 on a device and at most 8 registers on
// a host. Wider blocks were slower on the H200 (8 floats per lane lost 6 to 40 %), narrower ones read the
// nonzeros more often. The MTTKRPs that hosts use most have blocks by the registers of the machine instead
// (for_each_wide_block).
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/wide_blocks.hpp"

namespace polyad {

/// The widest block of columns.
inline constexpr int full_block = 32;

/// The narrowest block that holds `columns` columns, or the widest.
[[nodiscard]] constexpr int block_for(count_t columns) {
  return columns > 16 ? full_block : columns > 8 ? 16 : columns > 4 ? 8 : 4;
}

/// Calls f(std::integral_constant<int, Block>) with the narrowest block that holds `columns` columns, or the
/// widest; none is narrower than Narrowest.
template <int Narrowest = 4, class F>
void with_block(count_t columns, F&& f) {
  int const block = block_for(columns);
  if constexpr (Narrowest <= 4)
    if (block == 4) return f(std::integral_constant<int, 4>{});
  if constexpr (Narrowest <= 8)
    if (block <= 8) return f(std::integral_constant<int, 8>{});
  if constexpr (Narrowest <= 16)
    if (block <= 16) return f(std::integral_constant<int, 16>{});
  f(std::integral_constant<int, full_block>{});
}

/// Equal blocks side by side: `count` blocks of the dispatched width, the first at column `first`.
struct ColumnBlocks {
  int first;
  int count;
  int rank;  // R: the last block may be cut off there
};

/// Likewise for the last block of a walk over nonzeros, of at most Widest columns. A host has blocks of
/// 24 columns, too: with 32 columns R = 20 took 1.5 times as long (alto, f64). Blocks of 28 and 56 columns
/// are for seven registers (wide_blocks). If registers have 64 bytes, none has four columns: a part of a
/// register costs as much as the whole.
template <int Widest = full_block, class F>
void with_last_block(count_t columns, F&& f) {
  if constexpr (takes_packed_rows<Kokkos::DefaultExecutionSpace>) {
    with_block(columns, f);
  } else {
    if constexpr (Widest >= 64)
      if (columns > 48) return f(std::integral_constant<int, 64>{});
    if constexpr (Widest == 56)
      if (columns > 48) return f(std::integral_constant<int, 56>{});
    if constexpr (Widest >= 48)
      if (columns > 32) return f(std::integral_constant<int, 48>{});
    if constexpr (Widest == 28)
      if (columns > 24) return f(std::integral_constant<int, 28>{});
    if constexpr (Widest >= 32)
      if (columns > 24) return f(std::integral_constant<int, 32>{});
    if (columns > 16) return f(std::integral_constant<int, 24>{});
    if (columns > 8) return f(std::integral_constant<int, 16>{});
    if constexpr (simd_bytes < 64)
      if (columns <= 4) return f(std::integral_constant<int, 4>{});
    f(std::integral_constant<int, 8>{});
  }
}

/// Calls f(std::integral_constant<int, Block>, ColumnBlocks): once on a device; on a host once for the full
/// blocks and once for the rest. A device reads the nonzeros of neighbouring blocks once. With a separate
/// launch for the rest, R = 40 took up to 1.3 times as long on an H200.
template <class F>
void for_each_column_block(int rank, F&& f) {
  if constexpr (takes_packed_rows<Kokkos::DefaultExecutionSpace>) {
    int const count = (rank + full_block - 1) / full_block;
    return with_block(rank, [&](auto block) { f(block, ColumnBlocks{0, count, rank}); });
  }
  int const full = rank / full_block;
  int const rest = rank % full_block;
  if (full > 0) f(std::integral_constant<int, full_block>{}, ColumnBlocks{0, full, rank});
  ColumnBlocks const tail{full * full_block, 1, rank};
  if (rest > 0) with_last_block(rest, [&](auto block) { f(block, tail); });
}

/// The same as for_each_column_block, with blocks for the registers of a host. Column R cuts off fewer
/// than 16 columns of a block of more than 32.
/// \tparam IsRare  for a kernel that runs rarely: it is compiled only for the blocks of for_each_column_block
template <class Scalar, bool IsRare = false, class F>
void for_each_wide_block(int rank, F&& f) {
  if constexpr (IsRare || takes_packed_rows<Kokkos::DefaultExecutionSpace>) {
    for_each_column_block(rank, f);
  } else {
    constexpr WideBlocks wide = wide_blocks(simd_bytes, int(sizeof(Scalar)));
    int const full            = wide.full_blocks(rank);
    if (full > 0) f(std::integral_constant<int, wide.full>{}, ColumnBlocks{0, full, rank});
    ColumnBlocks const tail{full * wide.full, 1, rank};
    if (tail.first < rank) with_last_block<wide.last>(rank - tail.first, [&](auto block) { f(block, tail); });
  }
}

}  // namespace polyad
