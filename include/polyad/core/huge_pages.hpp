// SPDX-License-Identifier: BSD-3-Clause
// Huge pages for large arrays in host memory. Free of Kokkos.
#pragma once

#include <cstddef>

namespace polyad::detail {

/// Asks the system for huge pages in an array that nothing has touched yet. Rows that are read in random order
/// then miss the TLB less often. Most Linux systems give huge pages only where a program asks for them
/// (/sys/kernel/mm/transparent_hugepage/enabled: madvise). No page outside the array is concerned. Where
/// there are no such pages, the call does nothing.
void advise_huge_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace polyad::detail
