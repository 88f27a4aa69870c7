// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/device.hpp"

#include <Kokkos_Core.hpp>

#include "polyad/core/error.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace polyad {

#if defined(KOKKOS_ENABLE_CUDA)
namespace {

/// Never launched. The driver reports whether this file has code for the device.
__global__ void probe_kernel() {}

std::string capability(int major, int minor) {
  return "compute capability " + std::to_string(major) + "." + std::to_string(minor);
}

void probe_cuda(DeviceFacts& facts) {
#if defined(KOKKOS_IMPL_ARCH_NVIDIA_GPU)
  facts.compiled_for = capability(KOKKOS_IMPL_ARCH_NVIDIA_GPU / 10, KOKKOS_IMPL_ARCH_NVIDIA_GPU % 10);
#endif
  int devices        = 0;
  cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    facts.problem = std::string("no CUDA device can be used: ") + cudaGetErrorString(status);
    return;
  }
  for (int device = 0; device < devices; ++device) {
    int domain = 0;
    int bus    = 0;
    int slot   = 0;
    cudaDeviceGetAttribute(&domain, cudaDevAttrPciDomainId, device);
    cudaDeviceGetAttribute(&bus, cudaDevAttrPciBusId, device);
    cudaDeviceGetAttribute(&slot, cudaDevAttrPciDeviceId, device);
    facts.addresses.push_back(static_cast<std::uint64_t>(domain) << 32 |
                              static_cast<std::uint64_t>(bus) << 8 | static_cast<std::uint64_t>(slot));
  }
  cudaDeviceProp properties{};
  status = cudaGetDeviceProperties(&properties, 0);
  if (status == cudaSuccess) {
    facts.name         = properties.name;
    facts.found        = capability(properties.major, properties.minor);
    facts.memory_bytes = properties.totalGlobalMem;
    cudaFuncAttributes attributes{};
    status = cudaFuncGetAttributes(&attributes, probe_kernel);
  }
  if (status != cudaSuccess)
    facts.problem = "this build (" + facts.compiled_for + ") does not run on " + facts.name + " (" +
                    facts.found + "): " + cudaGetErrorString(status);
}

}  // namespace
#endif

DeviceFacts probe_device() {
  DeviceFacts facts;
  facts.backend = Kokkos::DefaultExecutionSpace::name();
  facts.accelerator =
      !Kokkos::SpaceAccessibility<Kokkos::HostSpace, Kokkos::DefaultExecutionSpace::memory_space>::accessible;
#if defined(KOKKOS_ENABLE_CUDA)
  probe_cuda(facts);
#endif
  return facts;
}

bool device_has_failed() noexcept {
#if defined(KOKKOS_ENABLE_CUDA)
  switch (cudaPeekAtLastError()) {
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
#else
  return false;
#endif
}

void expect_usable_device() {
  if (DeviceFacts const facts = probe_device(); !facts.usable()) throw BackendError(facts.problem);
}

}  // namespace polyad
