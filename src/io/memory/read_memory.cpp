// SPDX-License-Identifier: BSD-3-Clause
#include "io/memory/read_memory.hpp"

#include <algorithm>
#include <limits>

#include "core/host_memory.hpp"

namespace polyad::io {

void ReadMemory::count(std::string const& array, std::uint64_t bytes) {
  std::uint64_t taken = m_taken;
  do {
    std::uint64_t const left =
        m_limit ? *m_limit - std::min(*m_limit, taken) : std::numeric_limits<std::uint64_t>::max() - taken;
    if (bytes > left)
      throw MemoryError(array, bytes,
                        m_limit ? "of the " + std::to_string(*m_limit) + " bytes that reading may take, " +
                                      std::to_string(left) + " are left"
                                : "does not fit");
  } while (!m_taken.compare_exchange_weak(taken, taken + bytes));
}

void ReadMemory::take(std::string const& array, std::uint64_t bytes) {
  count(array, bytes);
  try {
    detail::expect_fits_host(array, bytes);
  } catch (...) {
    give(bytes);
    throw;
  }
}

std::uint64_t ReadMemory::left() const {
  std::uint64_t const free = detail::available_host_memory();
  if (!m_limit) return free;
  return std::min(free, *m_limit - std::min<std::uint64_t>(*m_limit, m_taken));
}

std::size_t ReadMemory::chunk_bytes(std::size_t wanted, int threads) const {
  if (!m_limit) return wanted;
  // A thread needs a block of text, what the last block left over, and the numbers.
  constexpr std::uint64_t least = 4096, shares = 16;
  auto const share = *m_limit / shares / static_cast<std::uint64_t>(std::max(threads, 1));
  return std::min<std::uint64_t>(wanted, std::max(share, least));
}

}  // namespace polyad::io
