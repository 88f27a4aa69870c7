// SPDX-License-Identifier: BSD-3-Clause
// DeviceMemoryAccount counts the bytes that Kokkos holds in the memory of the default execution space: the
// current number and the peak. With a limit, available_memory returns at most its rest, and expect_fits
// refuses larger arrays (core/spaces.hpp). 64 KiB of it are reserved for small, unchecked arrays.
//
// On a host backend, device memory is host memory. The account then simulates a device: it counts all of
// Kokkos' allocations, except those made while a HostArrays object exists.
#pragma once

#include <optional>

#include "polyad/core/types.hpp"

namespace polyad {

/// Counts what is allocated from its constructor to its destructor. During that time it uses Kokkos' hooks
/// for profiling tools. Only one may exist at a time.
class DeviceMemoryAccount {
public:
  /// Begins to count; Kokkos must have been initialised. \param limit in bytes; none: all that is free
  /// \throws UsageError when another account exists, or for a limit while a profiling tool has the hooks
  explicit DeviceMemoryAccount(std::optional<count_t> limit = {});
  ~DeviceMemoryAccount();
  DeviceMemoryAccount(DeviceMemoryAccount const&)            = delete;
  DeviceMemoryAccount& operator=(DeviceMemoryAccount const&) = delete;

  /// False if a profiling tool uses the hooks: nothing is counted, and the numbers below are 0.
  [[nodiscard]] bool counts() const;
  /// Bytes held now.
  [[nodiscard]] count_t in_use() const;
  /// The most that was held since the account was opened, or since reset_peak.
  [[nodiscard]] count_t peak() const;
  void reset_peak();

  /// While an object of this class exists, allocations do not count, since their arrays are in host memory on
  /// any backend. It has an effect only on a host backend. Objects may be nested.
  class HostArrays {
  public:
    HostArrays();
    ~HostArrays();
    HostArrays(HostArrays const&)            = delete;
    HostArrays& operator=(HostArrays const&) = delete;
  };
};

/// The rest of the account's limit in bytes; none without account or limit, or while a HostArrays exists.
[[nodiscard]] std::optional<count_t> left_of_device_memory_limit();

}  // namespace polyad
