// SPDX-License-Identifier: BSD-3-Clause
// free_device_memory: the free memory that the driver of a device reports, whatever a DeviceMemoryAccount
// allows.
#pragma once

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Bytes; the largest number if they are unknown, or there is no device: the allocation itself decides
/// then. It is in spaces.cpp.
[[nodiscard]] count_t free_device_memory();

}  // namespace polyad::detail
