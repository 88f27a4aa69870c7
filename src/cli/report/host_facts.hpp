// SPDX-License-Identifier: BSD-3-Clause
// Facts about this build, the machine and this process.
#pragma once

#include <cstdint>
#include <string>

namespace polyad::cli {

/// The commit that this was built from, "unknown" outside git.
[[nodiscard]] char const* git_hash() noexcept;

[[nodiscard]] std::string host_name();

/// The processor's model; empty where /proc/cpuinfo does not say.
[[nodiscard]] std::string processor_name();

/// The most memory that this process has held, in bytes.
[[nodiscard]] std::uint64_t peak_memory_bytes();

}  // namespace polyad::cli
