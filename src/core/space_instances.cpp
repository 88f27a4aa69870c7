// SPDX-License-Identifier: BSD-3-Clause
// enqueue_after, which Kokkos does not offer: a CUDA event between two streams.
#include "core/space_instances.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace polyad::detail {

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
