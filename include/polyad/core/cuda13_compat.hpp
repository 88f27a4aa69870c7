// SPDX-License-Identifier: BSD-3-Clause
// CUDA 13 changed the signatures of three runtime functions that Kokkos before 5.0 calls in their old form:
// an edge list grew a column of edge data, and a device number became a cudaMemLocation. These overloads
// take the old arguments. The build includes this file before all others into every CUDA source, ours and
// users' (-include, on the interface of Polyad::polyad); it does nothing elsewhere.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

namespace polyad::detail {

inline cudaMemLocation cuda_memory_location(int device) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id   = device == cudaCpuDeviceId ? 0 : device;
  return location;
}

}  // namespace polyad::detail

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, cudaGraphNode_t const* from,
                                            cudaGraphNode_t const* to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

inline cudaError_t cudaMemPrefetchAsync(void const* pointer, size_t bytes, int device,
                                        cudaStream_t stream = nullptr) {
  return cudaMemPrefetchAsync(pointer, bytes, polyad::detail::cuda_memory_location(device), 0, stream);
}

inline cudaError_t cudaMemAdvise(void const* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(pointer, bytes, advice, polyad::detail::cuda_memory_location(device));
}

#endif
#endif
