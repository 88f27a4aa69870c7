// SPDX-License-Identifier: BSD-3-Clause
// RowBound: how many rows are behind a raw pointer. Kernels index pointers and not Views, since a View's
// strides would take registers, so the bounds checks of Kokkos do not see them. Where Kokkos was built with
// KOKKOS_ENABLE_DEBUG, kernels keep the number and check each index by KOKKOS_ASSERT. Elsewhere the class is
// empty and takes no room ([[no_unique_address]]).
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"

namespace polyad {

class RowBound {
public:
  /// Any row.
  RowBound() = default;
#ifdef KOKKOS_ENABLE_DEBUG
  KOKKOS_FUNCTION explicit RowBound(count_t rows) : m_rows(rows) {}
  /// Aborts unless there is such a row.
  KOKKOS_FUNCTION void expect([[maybe_unused]] count_t row) const { KOKKOS_ASSERT(row < m_rows); }

private:
  count_t m_rows = ~count_t(0);
#else
  KOKKOS_FUNCTION explicit RowBound(count_t) {}
  KOKKOS_FORCEINLINE_FUNCTION void expect(count_t) const {}
#endif
};

/// One for each of several pointers.
template <int Count>
class RowBounds {
public:
#ifdef KOKKOS_ENABLE_DEBUG
  void set(int m, count_t rows) { m_bounds[m] = RowBound(rows); }
  KOKKOS_FUNCTION void expect(int m, count_t row) const { m_bounds[m].expect(row); }

private:
  RowBound m_bounds[Count];
#else
  void set(int, count_t) {}
  KOKKOS_FORCEINLINE_FUNCTION void expect(int, count_t) const {}
#endif
};

}  // namespace polyad
