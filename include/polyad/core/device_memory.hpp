// SPDX-License-Identifier: BSD-3-Clause
// DeviceMemoryAccount: how many bytes Kokkos holds in the memory of the default execution space, the most
// that it ever held, and a limit below which Polyad keeps them: `available_memory` counts only up to it, so
// every allocation that asks first (expect_fits, core/spaces.hpp) is refused beyond it; 64 KiB of it are kept
// for small arrays that do not ask.
//
// On a host backend the device's memory is the host's own; the account then simulates a device: everything
// counts but what is allocated while a HostArrays lives.
#pragma once

#include <optional>

#include "polyad/core/types.hpp"

namespace polyad {

/// Counts what is allocated while it lives, through Kokkos' hooks for profiling tools, which it gives back at
/// its end. One at a time.
class DeviceMemoryAccount {
public:
  /// Begins to count; Kokkos must have been initialised. \param limit in bytes; none: all that is free
  /// \throws UsageError when another account lives, or when there is a limit but a profiling tool, which
  ///         needs the same hooks, is loaded
  explicit DeviceMemoryAccount(std::optional<count_t> limit = {});
  ~DeviceMemoryAccount();
  DeviceMemoryAccount(DeviceMemoryAccount const&)            = delete;
  DeviceMemoryAccount& operator=(DeviceMemoryAccount const&) = delete;

  /// False when a profiling tool has the hooks: the numbers below are then 0.
  [[nodiscard]] bool counts() const;
  /// Bytes held now.
  [[nodiscard]] count_t in_use() const;
  /// The most that was held since the account was opened, or since reset_peak.
  [[nodiscard]] count_t peak() const;
  void reset_peak();

  /// What is allocated while it lives is the host's: an array that stays in host memory whatever the backend.
  /// Matters on a host backend only. May be nested.
  class HostArrays {
  public:
    HostArrays();
    ~HostArrays();
    HostArrays(HostArrays const&)            = delete;
    HostArrays& operator=(HostArrays const&) = delete;
  };
};

/// What is left of the limit of the account that is open; nothing when there is no limit, or while a
/// HostArrays lives.
[[nodiscard]] std::optional<count_t> left_of_device_memory_limit();

}  // namespace polyad
