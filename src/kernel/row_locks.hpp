// SPDX-License-Identifier: BSD-3-Clause
// Locks for rows that several threads add to, if a copy for each thread would take too much memory. A thread
// that holds whole rows locks the row and adds to it. For 32 doubles that takes two atomic operations instead
// of 32. Where rows are spread over lanes, each lane adds its own columns with atomics.
#pragma once

#include <Kokkos_Core.hpp>
#include <atomic>
#include <thread>
#include <type_traits>

#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"

namespace polyad::detail {

/// A table of locks; rows a multiple of its length apart share one. Zero bytes are open locks.
class RowLocks {
public:
  /// Enough that two threads rarely meet in a lock without meeting in a row; 64 KiB.
  static constexpr count_t length = count_t(1) << 16;

  RowLocks() = default;
  explicit RowLocks(unsigned char* locks) : m_locks(locks) {}

  [[nodiscard]] KOKKOS_FUNCTION bool in_use() const { return m_locks != nullptr; }

  /// target += sum, with the target row `row` of a matrix. With the columns of a block that is cut off, the
  /// row is roomy, and the sum is zero right of column R.
  template <class Row, class Scalar, class SomeColumns>
  KOKKOS_FORCEINLINE_FUNCTION void add([[maybe_unused]] count_t row, Row const& sum, Scalar* target,
                                       SomeColumns const& columns) const {
    if constexpr (Row::form == RowForm::simd) {
      lock(row);
      if constexpr (std::is_same_v<SomeColumns, Columns>) {
        Row total(target, columns);
        total += sum;
        total.store(target, columns);
      } else {
        Row total = Row::with_padding(target, columns);
        total += sum;
        total.store_with_padding(target, columns);
      }
      unlock(row);
    } else {
      sum.atomic_add_to(target, columns);
    }
  }
  /// Between these two calls no other thread adds to the row, if locks are in use. For a Row that is spread
  /// over lanes they do nothing.
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void acquire([[maybe_unused]] count_t row) const {
    if constexpr (Row::form == RowForm::simd)
      if (in_use()) lock(row);
  }
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void release([[maybe_unused]] count_t row) const {
    if constexpr (Row::form == RowForm::simd)
      if (in_use()) unlock(row);
  }

private:
  void lock(count_t row) const {
    std::atomic_ref<unsigned char> const lock(m_locks[row % length]);
    // The thread that holds the lock may have been descheduled: yield the core to it.
    for (int tries = 1; lock.exchange(1, std::memory_order_acquire) != 0; ++tries)
      if (tries % 64 == 0) std::this_thread::yield();
  }
  void unlock(count_t row) const {
    std::atomic_ref<unsigned char>(m_locks[row % length]).store(0, std::memory_order_release);
  }

  unsigned char* m_locks = nullptr;
};

}  // namespace polyad::detail
