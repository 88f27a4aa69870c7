// SPDX-License-Identifier: BSD-3-Clause
// Counter-based random numbers. Each is a pure function of (seed, mode, row, column): every backend, thread
// count and order of evaluation gives the same bits.
//
// The mixing steps are those of SplitMix64 over a counter made of mode, row and column (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace polyad {

/// 64 random bits for the entry (row, column) of the matrix of mode n; all count from 0. Another seed gives
/// other bits, the same arguments the same bits everywhere. Callers may also use n to number random streams
/// of their own.
KOKKOS_INLINE_FUNCTION std::uint64_t counter_bits(std::uint64_t seed, std::uint64_t n, std::uint64_t row,
                                                  std::uint64_t column) {
  std::uint64_t z = (n + 1) * 0x9E3779B97F4A7C15ULL + (row + 1) * 0xBF58476D1CE4E5B9ULL +
                    (column + 1) * 0x94D049BB133111EBULL + seed * 0xD6E8FEB86659FD93ULL;
  z               = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z               = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// A number in [0, 1), uniform with 53 bits; arguments as for counter_bits, and the same bits everywhere. For
/// instance the entry (row, column) of the starting guess of mode n.
KOKKOS_INLINE_FUNCTION double counter_uniform(std::uint64_t seed, std::uint64_t n, std::uint64_t row,
                                              std::uint64_t column) {
  return static_cast<double>(counter_bits(seed, n, row, column) >> 11) * 0x1p-53;
}

}  // namespace polyad
