// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/device_failure.hpp"

#include <Kokkos_Core.hpp>
#include <string_view>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <csignal>

#include "polyad/core/error.hpp"
#endif

namespace polyad::cli {

#if defined(KOKKOS_ENABLE_CUDA)
namespace {

/// Whether the last call met one of the errors after which Kokkos aborts, since no later call can succeed.
bool device_has_failed() {
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
}

/// An abort for any other reason goes on when this returns.
extern "C" void end_if_device_failed(int) {
  if (!device_has_failed()) return;
  constexpr std::string_view text = "\npolyad: the device failed, as said above\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // The exit status says it, too.
  }
  ::_exit(static_cast<int>(ExitCode::backend_unusable));
}

}  // namespace
#endif

void catch_device_failures() {
#if defined(KOKKOS_ENABLE_CUDA)
  std::signal(SIGABRT, end_if_device_failed);
#endif
}

bool tells_of_device(std::string_view text) {
  return text.find("error( cuda") != std::string_view::npos;
}

}  // namespace polyad::cli
