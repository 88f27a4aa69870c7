// SPDX-License-Identifier: BSD-3-Clause
// The range of ranks, and the storage of rows of a given rank.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "polyad/core/error.hpp"
#include "polyad/core/row_alignment.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

/// Packed rows (tensor/factor_matrices.hpp) start at multiples of 16 bytes.
inline constexpr int row_alignment = 16;

/// Whether kernels on Space require packed rows: a device's do; a host's accept any stride.
template <class Space>
inline constexpr bool takes_packed_rows = is_device_space<Space>;

/// The largest rank that the tests cover. Kernels multiply two ranks in int, so R^2 8 bytes must fit it too.
inline constexpr count_t largest_rank = 4096;

/// Checks a rank from outside. \throws UsageError unless 1 <= R <= largest_rank
inline int checked_rank(count_t rank) {
  POLYAD_EXPECTS(rank >= 1, "the rank must be at least 1");
  POLYAD_EXPECTS(rank <= largest_rank, "the rank ", rank, " is above ", largest_rank, ", the largest one");
  return static_cast<int>(rank);
}

/// Checks the columns of a product, which may be those of several ranks.
/// \throws UsageError unless 1 <= columns < 2^20
inline int checked_columns(count_t columns) {
  POLYAD_EXPECTS(columns >= 1, "a product must have at least one column");
  POLYAD_EXPECTS(columns < (count_t(1) << 20), columns, " columns are beyond 2^20");
  return static_cast<int>(columns);
}

/// Columns of a stored row of R columns, padding included. On a device rows start at multiples of 16 bytes.
/// On a host no row crosses more cache lines than it must: rows of up to 64 bytes are padded to a power of
/// two, and longer ones to whole lines. A load that crosses a line costs twice as much: with a padding to 16
/// bytes, R = 10 and R = 25 took 1.4 times as long as interpolated from the ranks next to them (alto, f64).
template <class Scalar>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr count_t padded_rank(count_t rank) {
  count_t alignment = row_alignment;
  if constexpr (!takes_packed_rows<Kokkos::DefaultExecutionSpace>)
    while (alignment < output_alignment && alignment < rank * sizeof(Scalar)) alignment *= 2;
  count_t const step = alignment / sizeof(Scalar);
  return ceil_div(rank, step) * step;
}

/// Columns of a stored row of an output on Space, padding included.
template <class Scalar, class Space>
[[nodiscard]] constexpr count_t output_columns(count_t rank) {
  constexpr count_t step =
      takes_packed_rows<Space> ? row_alignment / sizeof(Scalar) : output_alignment / sizeof(Scalar);
  return ceil_div(rank, step) * step;
}

/// True when the rows of a matrix may be read and written in packs of 16 bytes.
template <class Scalar>
bool rows_are_aligned(Scalar const* data, count_t row_stride, count_t rank) {
  return reinterpret_cast<std::uintptr_t>(data) % row_alignment == 0 &&
         row_stride * sizeof(Scalar) % row_alignment == 0 &&
         ceil_div(rank * sizeof(Scalar), row_alignment) * row_alignment <= row_stride * sizeof(Scalar);
}

}  // namespace polyad
