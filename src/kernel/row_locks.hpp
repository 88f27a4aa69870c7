// SPDX-License-Identifier: BSD-3-Clause
// Locks for rows that several threads of a host add to, where a copy a thread would be too long. Adding a row
// of 32 doubles under a lock takes two atomic operations; element by element it would take 32.
#pragma once

#include <Kokkos_Core.hpp>
#include <atomic>
#include <thread>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// A table of locks; rows a multiple of its length apart share one. Zero bytes are open locks.
class RowLocks {
public:
  /// Enough that two threads rarely meet in a lock without meeting in a row; 64 KiB.
  static constexpr count_t length = count_t(1) << 16;

  RowLocks() = default;
  explicit RowLocks(unsigned char* locks) : m_locks(locks) {}

  [[nodiscard]] bool in_use() const { return m_locks != nullptr; }

  void lock(count_t row) const {
    std::atomic_ref<unsigned char> const lock(m_locks[row % length]);
    // A thread that holds the lock may have lost its core: let it have this one.
    for (int tries = 1; lock.exchange(1, std::memory_order_acquire) != 0; ++tries)
      if (tries % 64 == 0) std::this_thread::yield();
  }
  void unlock(count_t row) const {
    std::atomic_ref<unsigned char>(m_locks[row % length]).store(0, std::memory_order_release);
  }

private:
  unsigned char* m_locks = nullptr;
};

}  // namespace polyad::detail
