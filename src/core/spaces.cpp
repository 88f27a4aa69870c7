// SPDX-License-Identifier: BSD-3-Clause
// Free memory of a device (from its driver) or of the host (core/host_memory.hpp), within the limit that the
// user has set.
#include "polyad/core/spaces.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "core/free_device_memory.hpp"
#include "core/host_memory.hpp"
#include "polyad/core/device_memory.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace polyad {

using namespace detail;

namespace {

/// Caches available_host_memory for a while. A call takes a tenth of a millisecond, and a small tensor
/// allocates dozens of arrays. A cached answer is no less accurate, since allocated memory is taken only when
/// it is first written.
count_t recent_host_memory() {
  using Clock            = std::chrono::steady_clock;
  constexpr auto a_while = std::chrono::milliseconds(5);
  static std::mutex lock;
  static Clock::time_point asked = {};
  static count_t answer          = 0;
  std::lock_guard const guard(lock);
  auto const now = Clock::now();
  if (asked == Clock::time_point() || now - asked > a_while) {
    answer = available_host_memory();
    asked  = now;
  }
  return answer;
}

template <class Space>
count_t free_memory() {
  if constexpr (is_device_space<Space>)
    return free_device_memory();
  else
    return recent_host_memory();
}

}  // namespace

count_t detail::free_device_memory() {
#if defined(KOKKOS_ENABLE_CUDA)
  std::size_t free_bytes  = 0;
  std::size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) return free_bytes;
#endif
  return std::numeric_limits<count_t>::max();
}

count_t device_multiprocessors([[maybe_unused]] Kokkos::DefaultExecutionSpace const& space) {
#if defined(KOKKOS_ENABLE_CUDA)
  return space.cuda_device_prop().multiProcessorCount;
#else
  return 1;
#endif
}

template <class Space>
count_t available_memory(Space const&) {
  count_t const bytes = free_memory<Space>();
  if constexpr (std::is_same_v<Space, Kokkos::DefaultExecutionSpace>)
    if (auto const left = left_of_device_memory_limit()) return std::min(bytes, *left);
  return bytes;
}

template count_t available_memory(Kokkos::DefaultExecutionSpace const&);
#if defined(KOKKOS_ENABLE_CUDA)
template count_t available_memory(Kokkos::DefaultHostExecutionSpace const&);
#endif

}  // namespace polyad
