// SPDX-License-Identifier: BSD-3-Clause
// Prefetches of rows, for walks whose rows come from the last cache or from memory. Rows that are spread over
// lanes are not prefetched: on a device, other threads compute while one waits.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/kernel/columns.hpp"

namespace polyad::detail {

inline constexpr int cache_line_bytes = 64;

/// Asks for the lines of a row's block, to be read or written soon.
template <class Row>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_row([[maybe_unused]] void const* row) {
  constexpr int bytes = Row::block * int(sizeof(typename Row::scalar_type));
  if constexpr (Row::form == RowForm::simd)
    for (int at = 0; at < bytes; at += cache_line_bytes)
      __builtin_prefetch(static_cast<char const*>(row) + at);
}

/// Asks for one line, to be read soon.
template <class Row>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_line([[maybe_unused]] void const* number) {
  if constexpr (Row::form == RowForm::simd) __builtin_prefetch(number);
}

}  // namespace polyad::detail
