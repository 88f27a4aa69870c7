// SPDX-License-Identifier: BSD-3-Clause
// Chunks of the nonzeros of a mode's order, for rows that are too long for one team. Each chunk that lies
// within one row has R (R + 1) numbers in RowProblem::sums (formats/coo/row_products.hpp).
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Nonzeros of a chunk: enough for the sums to take at most a quarter of a scalar for each nonzero.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr count_t row_chunk(count_t rank) {
  count_t const least  = 1024;
  count_t const wanted = 4 * rank * (rank + 1);
  return wanted < least ? least : wanted;
}

/// The numbers of one chunk.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr count_t chunk_sums_size(count_t rank) {
  return rank * (rank + 1);
}

/// The numbers in RowProblem::sums.
[[nodiscard]] constexpr count_t row_sums_size(count_t nnz, count_t rank) {
  return nnz / row_chunk(rank) * chunk_sums_size(rank);
}

}  // namespace polyad::detail
