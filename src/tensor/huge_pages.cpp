// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>

#include "polyad/tensor/factor_matrices.hpp"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace polyad::detail {

#ifdef __linux__

void advise_huge_pages(void* memory, std::size_t bytes) noexcept {
  constexpr std::size_t worth_it = std::size_t{2} << 20;  // a huge page of x86-64, and of AArch64 with 4 KiB
  if (bytes < worth_it) return;
  auto const page    = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  auto const skipped = (page - address % page) % page;  // before the first whole page
  // Most Linux systems give huge pages only to programs that ask for them. No page outside the array is
  // concerned. If the system does not follow the advice, the pages are small.
  (void)madvise(static_cast<char*>(memory) + skipped, (bytes - skipped) / page * page, MADV_HUGEPAGE);
}

#else

void advise_huge_pages(void*, std::size_t) noexcept {}

#endif

}  // namespace polyad::detail
