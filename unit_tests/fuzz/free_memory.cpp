// SPDX-License-Identifier: BSD-3-Clause
// Stands in for src/core/host_memory.cpp, whose questions to the system cost more than a small input's parse.
#include "core/host_memory.hpp"
#include "fuzz_file.hpp"
#include "polyad/core/error.hpp"

namespace polyad::detail {

std::uint64_t available_host_memory(std::filesystem::path const&) {
  return fuzz::most_memory;
}

void expect_fits_host(std::string const& array, std::uint64_t bytes) {
  if (bytes > fuzz::most_memory) throw MemoryError(array, bytes, "that is more than a fuzz target may take");
}

}  // namespace polyad::detail
