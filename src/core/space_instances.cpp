// SPDX-License-Identifier: BSD-3-Clause
// Functions that Kokkos does not offer: a CUDA event between two streams, and whether streams fit the memory.
#include "core/space_instances.hpp"

#include <cstdint>
#include <string>

#include "core/free_device_memory.hpp"
#include "polyad/core/error.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace polyad::detail {

// Not available_memory(): a DeviceMemoryAccount does not count the locks.
void expect_room_for_streams(Kokkos::DefaultExecutionSpace const& space, int count) {
  // What Kokkos 4.7 gives each: a lock for each thread that runs at once, and 73 KiB for reductions.
  count_t const threads   = space.concurrency();
  count_t const bytes     = count * (threads * sizeof(std::int32_t) + (count_t{128} << 10));
  count_t const available = free_device_memory();
  if (available < bytes)
    throw MemoryError("the scratch memory of " + std::to_string(count) + " streams", bytes,
                      "only " + std::to_string(available) + " bytes are free");
}

template <class Space>
void enqueue_after([[maybe_unused]] Space const& later, [[maybe_unused]] Space const& earlier) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (is_device_space<Space>) {
    cudaEvent_t event = nullptr;
    auto const expect = [](cudaError_t status) {
      if (status != cudaSuccess)
        throw BackendError(std::string("an event between two streams failed: ") + cudaGetErrorString(status));
    };
    expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    expect(cudaEventRecord(event, earlier.cuda_stream()));
    expect(cudaStreamWaitEvent(later.cuda_stream(), event, 0));
    expect(cudaEventDestroy(event));  // the runtime keeps it until it has passed
  }
#endif
}

template void enqueue_after(Kokkos::DefaultExecutionSpace const&, Kokkos::DefaultExecutionSpace const&);

}  // namespace polyad::detail
