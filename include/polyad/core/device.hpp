// SPDX-License-Identifier: BSD-3-Clause
// probe_device: the device that this build needs and the one that the machine has, before Kokkos starts.
// Kokkos::initialize ends the process without a usable device. A program that probes first can say why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polyad {

struct DeviceFacts {
  std::string backend;                   // "Serial", "OpenMP", "Cuda": the default execution space
  bool accelerator = false;              // the backend needs a device besides the host
  std::string name;                      // the device's name; empty on a host backend and when none was found
  std::string compiled_for;              // "compute capability 9.0"; empty on a host backend
  std::string found;                     // the same for the device that was found
  std::uint64_t memory_bytes = 0;        // the device's whole memory
  std::vector<std::uint64_t> addresses;  // PCI addresses of all devices that this process sees
  std::string problem;                   // why the backend cannot be used; empty when it can
  [[nodiscard]] bool usable() const noexcept { return problem.empty(); }
};

/// May be called before Kokkos is initialised. Examines the first device, which Kokkos uses by default.
[[nodiscard]] DeviceFacts probe_device();

/// \throws BackendError when the device is missing or this build holds no code for it
void expect_usable_device();

/// Whether the device has failed so badly that every later call fails. Kokkos then aborts the process; a
/// handler of SIGABRT may call this function.
[[nodiscard]] bool device_has_failed() noexcept;

}  // namespace polyad
