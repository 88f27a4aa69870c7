// SPDX-License-Identifier: BSD-3-Clause
// Huge pages: a large factor matrix of a host asks for them, in its own pages alone.
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "polyad/tensor/factor_matrices.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

/// Whether the system was asked for huge pages at an address, by its mapping in /proc/self/smaps.
bool asks_for_huge_pages(void const* address) {
  auto const wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
      is_inside = begin <= wanted && wanted < end;
    else if (is_inside && line.starts_with("VmFlags:"))
      return line.find(" hg") != std::string::npos;
  }
  return false;
}

bool has_huge_pages() {
  return std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled");
}

TEST_CASE("huge pages: a large factor matrix of a host asks for them", POLYAD_HOST_ONLY "[tensor]") {
  if (!has_huge_pages()) POLYAD_SKIP("the system has no huge pages");
  TestSpace const space;
  count_t const rows = 1 << 19;
  auto const large   = make_factor_matrix<double>(space, "polyad::test", rows, 16);  // 64 MiB
  CHECK(asks_for_huge_pages(&large(rows / 2, 0)));
  CHECK(large(0, 0) == 0);
  CHECK(large(rows - 1, 15) == 0);
}

#ifdef __linux__
TEST_CASE("huge pages: less than one of them is not worth a request", "[tensor]") {
  if (!has_huge_pages()) POLYAD_SKIP("the system has no huge pages");
  std::size_t const bytes = std::size_t{8} << 20;
  void* const memory      = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  void const* const middle = static_cast<char const*>(memory) + bytes / 2;
  detail::advise_huge_pages(memory, std::size_t{1} << 20);
  CHECK_FALSE(asks_for_huge_pages(memory));
  // From an odd address, the first page that is not whole is left out.
  detail::advise_huge_pages(static_cast<char*>(memory) + 8, bytes - 8);
  CHECK_FALSE(asks_for_huge_pages(memory));
  CHECK(asks_for_huge_pages(middle));
  munmap(memory, bytes);
}
#endif

}  // namespace
}  // namespace polyad::test
