// SPDX-License-Identifier: BSD-3-Clause
// Parallel stable radix sort of (key, value) pairs with 64-bit counts: CUB on CUDA, a chunked counting
// radix sort on hosts (Kokkos::sort_by_key is serial and counts in 32 bits there).
#pragma once

#include <Kokkos_Core.hpp>
#include <bit>
#include <cstdint>

#include "polyad/core/types.hpp"

namespace polyad {

/// Bits that the numbers 0 ... count - 1 need.
constexpr int bits_for(count_t count) {
  return count <= 1 ? 0 : static_cast<int>(std::bit_width(count - 1));
}

/// Sorts the pairs by the lowest `key_bits` bits of their keys, stably, in place.
/// Key and Value are std::uint32_t or std::uint64_t. The sort allocates a second copy of both arrays. Waits
/// for `space`.
/// \throws UsageError when the lengths differ; MemoryError when the copies do not fit; BackendError when CUB
///         fails
template <class Space, class Key, class Value>
void sort_pairs(Space const& space, Kokkos::View<Key*, typename Space::device_type> const& keys,
                Kokkos::View<Value*, typename Space::device_type> const& values, int key_bits);

#define POLYAD_SORT_PAIRS(Space, Key, Value)                                            \
  template void sort_pairs(Space const&, Kokkos::View<Key*, Space::device_type> const&, \
                           Kokkos::View<Value*, Space::device_type> const&, int)
extern POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint32_t, std::uint32_t);
extern POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint32_t, std::uint64_t);
extern POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint64_t, std::uint32_t);
extern POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint64_t, std::uint64_t);
#if defined(KOKKOS_ENABLE_CUDA)  // tensors that do not fit the device are prepared on the host
extern POLYAD_SORT_PAIRS(Kokkos::DefaultHostExecutionSpace, std::uint64_t, std::uint64_t);
#endif

}  // namespace polyad
