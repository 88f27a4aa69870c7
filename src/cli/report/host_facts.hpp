// SPDX-License-Identifier: BSD-3-Clause
// Facts from the operating system about the machine and this process.
#pragma once

#include <cstdint>
#include <string>

namespace polyad::cli {

[[nodiscard]] std::string host_name();

/// The processor's model; empty where /proc/cpuinfo does not say.
[[nodiscard]] std::string processor_name();

/// The most memory that this process has held, in bytes.
[[nodiscard]] std::uint64_t peak_memory_bytes();

}  // namespace polyad::cli
