// SPDX-License-Identifier: BSD-3-Clause
// Prefetches of rows on a host, for walks whose rows come from the last cache or from memory.
#pragma once

namespace polyad::detail {

inline constexpr int cache_line_bytes = 64;

/// Asks for the lines of Bytes bytes, to be read or written soon.
template <int Bytes>
inline __attribute__((always_inline)) void prefetch_row(void const* row) {
  for (int at = 0; at < Bytes; at += cache_line_bytes) __builtin_prefetch(static_cast<char const*>(row) + at);
}

}  // namespace polyad::detail
