// SPDX-License-Identifier: BSD-3-Clause
// Execution and memory space helpers: the launch shape of a team kernel, chunked ranges, and the check
// that an allocation fits before it is made.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>
#include <string>
#include <type_traits>

#include "polyad/core/error.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

/// True if kernels run on an accelerator with its own memory and thousands of threads.
template <class Space>
inline constexpr bool is_device_space =
    !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;

/// The host's execution space for Space: that of a device's host, or Space itself.
template <class Space>
using HostOf = std::conditional_t<is_device_space<Space>, Kokkos::DefaultHostExecutionSpace, Space>;

/// The three levels of a team kernel (GenTen, section 4): `league` teams of `team` threads, each of
/// `vector` lanes.
struct LaunchShape {
  count_t league;
  int team;
  int vector;
};

/// a / b, rounded up.
KOKKOS_INLINE_FUNCTION constexpr count_t ceil_div(count_t a, count_t b) {
  return (a + b - 1) / b;
}

/// Kokkos' team policy. A host ignores LaunchBounds, which therefore do not make a different type there.
template <class Space, class... Properties>
struct TeamPolicyOf {
  using type = Kokkos::TeamPolicy<Space, Properties...>;
};
template <class Space, unsigned Threads, unsigned Teams>
  requires(!is_device_space<Space>)
struct TeamPolicyOf<Space, Kokkos::LaunchBounds<Threads, Teams>> {
  using type = Kokkos::TeamPolicy<Space>;
};
template <class Space, class... Properties>
using TeamPolicy = typename TeamPolicyOf<Space, Properties...>::type;

/// The policy of a launch shape; Properties are Kokkos' (LaunchBounds).
/// \throws UsageError when the league exceeds what Kokkos counts (2^31 - 1)
template <class... Properties, class Space>
[[gnu::noinline]] TeamPolicy<Space, Properties...> team_policy(Space const& space, LaunchShape shape) {
  POLYAD_EXPECTS(shape.league <= std::numeric_limits<int>::max(), "a launch of ", shape.league,
                 " teams exceeds what one kernel can hold");
  return {space, static_cast<int>(shape.league), shape.team, shape.vector};
}

/// a * b for sizes in bytes or counts.
/// \throws MemoryError naming `array` when the product does not fit 64 bits
[[nodiscard]] inline count_t checked_product(std::string const& array, count_t a, count_t b) {
  count_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw MemoryError(array, std::numeric_limits<count_t>::max(), "more than 2^64 bytes");
  return product;
}

/// The number of multiprocessors, from the device's properties: concurrency() / 2048 is wrong if one runs
/// only 1536 threads.
[[nodiscard]] count_t device_multiprocessors(Kokkos::DefaultExecutionSpace const& space);

/// Bytes of free memory in the memory space of Space, reported by the device's driver or the host's system. A
/// DeviceMemoryAccount may set a lower limit (core/device_memory.hpp).
template <class Space>
[[nodiscard]] count_t available_memory(Space const& space);

/// Refuses an array before it is allocated.
/// \throws MemoryError naming `array` and its bytes when they exceed the memory that is free
template <class Space>
void expect_fits(Space const& space, std::string const& array, count_t elements, count_t element_bytes) {
  count_t const bytes     = checked_product(array, elements, element_bytes);
  count_t const available = available_memory(space);
  if (bytes > available)
    throw MemoryError(array, bytes, "only " + std::to_string(available) + " bytes are free");
}

extern template count_t available_memory(Kokkos::DefaultExecutionSpace const&);
#if defined(KOKKOS_ENABLE_CUDA)
extern template count_t available_memory(Kokkos::DefaultHostExecutionSpace const&);
#endif

/// For an array that a kernel fills: Array(uninitialized(space, "polyad::name"), length).
template <class Space>
[[nodiscard]] auto uninitialized(Space const& space, std::string const& label) {
  return Kokkos::view_alloc(space, Kokkos::WithoutInitializing, label);
}

}  // namespace polyad
