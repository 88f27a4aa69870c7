// SPDX-License-Identifier: BSD-3-Clause
// Memory of a device, and of the host where a device reaches it, that fails when told and is counted. The
// linker sends the calls of CUDA's runtime here (--wrap). All arrays come this way, also the scratch of CUB's
// sorts, which is a View. A question for free memory fails, too: nothing is free then.
#include <cstddef>

#include "torture/failing_memory.hpp"

using polyad::torture::count_block;
using polyad::torture::fails;

namespace {

using Status                   = int;
constexpr Status success       = 0;
constexpr Status out_of_memory = 2;

/// Kokkos asks for no bytes at each launch of teams. CUDA then gives a null pointer and cannot fail.
template <class Allocate>
Status allocated(std::size_t bytes, Allocate const& allocate) {
  if (bytes == 0) return allocate();
  if (fails(bytes)) return out_of_memory;
  Status const status = allocate();
  if (status == success) count_block(1);
  return status;
}

Status freed(void* memory, Status (*release)(void*)) {
  if (memory != nullptr) count_block(-1);
  return release(memory);
}

}  // namespace

extern "C" {

Status __real_cudaMalloc(void**, std::size_t);
Status __real_cudaMallocManaged(void**, std::size_t, unsigned);
Status __real_cudaMallocHost(void**, std::size_t);
Status __real_cudaHostAlloc(void**, std::size_t, unsigned);
Status __real_cudaFree(void*);
Status __real_cudaFreeHost(void*);
Status __real_cudaMemGetInfo(std::size_t*, std::size_t*);

Status __wrap_cudaMalloc(void** memory, std::size_t bytes) {
  return allocated(bytes, [&] { return __real_cudaMalloc(memory, bytes); });
}
Status __wrap_cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  return allocated(bytes, [&] { return __real_cudaMallocManaged(memory, bytes, flags); });
}
Status __wrap_cudaMallocHost(void** memory, std::size_t bytes) {
  return allocated(bytes, [&] { return __real_cudaMallocHost(memory, bytes); });
}
Status __wrap_cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return allocated(bytes, [&] { return __real_cudaHostAlloc(memory, bytes, flags); });
}
Status __wrap_cudaFree(void* memory) {
  return freed(memory, __real_cudaFree);
}
Status __wrap_cudaFreeHost(void* memory) {
  return freed(memory, __real_cudaFreeHost);
}
Status __wrap_cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Status const status = __real_cudaMemGetInfo(free, total);
  if (status == success && fails(*total)) *free = 0;
  return status;
}

}  // extern "C"
