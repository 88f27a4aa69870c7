// SPDX-License-Identifier: BSD-3-Clause
// Free memory of the host, within the limits of the system, control groups and resource limits. Free of
// Kokkos, since the readers use it too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace polyad::detail {

/// The least of these numbers, as far as the system reports them:
///
///   MemAvailable of /proc/meminfo;
///   limit - (usage - inactive file pages) of the process' control group and each visible ancestor, version 1
///   or 2: a group beyond its limit is killed;
///   RLIMIT_DATA - VmData and RLIMIT_AS - VmSize: beyond them allocations fail.
///
/// If nothing is known, it is the largest number. A file that cannot be parsed counts as unknown.
/// \param root  the folder of /proc and the control groups' files; tests have their own
[[nodiscard]] std::uint64_t available_host_memory(std::filesystem::path const& root = "/");

/// Refuses an array of the host before it is allocated. Arrays below a mebibyte are not checked.
/// \throws MemoryError naming `array` if that many bytes are not free
void expect_fits_host(std::string const& array, std::uint64_t bytes);

}  // namespace polyad::detail
