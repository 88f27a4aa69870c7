// SPDX-License-Identifier: BSD-3-Clause
// Free memory of the host: what the system, control groups and resource limits leave to this process. Free of
// Kokkos, so that the readers can ask too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace polyad::detail {

/// The least of these bytes, as far as the system tells them:
///
///   MemAvailable of /proc/meminfo;
///   limit - (usage - inactive file pages) of the process' control group and each of its ancestors that can
///   be seen, version 1 or 2: a group beyond its limit is killed;
///   RLIMIT_DATA - VmData and RLIMIT_AS - VmSize: beyond them allocations fail.
///
/// The largest number where nothing is known. What a file says that cannot be understood counts as unknown.
/// \param root  where /proc and the control groups' files are looked for; tests have a folder of their own
[[nodiscard]] std::uint64_t available_host_memory(std::filesystem::path const& root = "/");

/// Refuses an array of the host before it is allocated. Less than a mebibyte is not worth the question.
/// \throws MemoryError naming `array` when so many bytes are not free
void expect_fits_host(std::string const& array, std::uint64_t bytes);

}  // namespace polyad::detail
