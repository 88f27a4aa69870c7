// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/coordinate_list.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace polyad::io {

namespace {

/// The size on x86-64, and on AArch64 with pages of 4 KiB; elsewhere the advice merely finds fewer whole
/// pages.
constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

void* allocate_huge(std::size_t bytes) {
  void* const memory = ::operator new(bytes, std::align_val_t{huge_page});
#ifdef __linux__
  // This is only advice: if the system does not follow it, the pages are small.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_huge(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t{huge_page});
}

}  // namespace polyad::io
