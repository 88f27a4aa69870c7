// SPDX-License-Identifier: BSD-3-Clause
// RowsAt: the rows of a matrix as a kernel sees them, by a pointer and a stride. A View would
// take more registers, but it would check bounds. So if Kokkos was built with KOKKOS_ENABLE_DEBUG, the number
// of rows is stored too, and KOKKOS_ASSERT checks each index. In other builds the member is left out: if it
// were empty and [[no_unique_address]], nvcc would give it room on the device but not on the host.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "polyad/core/rank.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Scalar>
struct RowsAt {
  Scalar* data   = nullptr;
  count_t stride = 0;
#ifdef KOKKOS_ENABLE_DEBUG
  count_t rows = ~count_t(0);  // the largest number: unknown
#endif

  RowsAt() = default;
  /// An unknown number of rows.
  KOKKOS_FUNCTION RowsAt(Scalar* first, count_t apart) : data(first), stride(apart) {}
  template <class... View>
  explicit RowsAt(Kokkos::View<Scalar**, View...> const& matrix)
      : data(matrix.data()), stride(matrix.stride(0)) {
#ifdef KOKKOS_ENABLE_DEBUG
    rows = matrix.extent(0);
#endif
  }

  /// Whether a host may read and write whole registers at the end of a row (make_output_matrix). If an
  /// array and these columns of it begin at multiples of output_alignment, all of such a register belongs
  /// to the row.
  [[nodiscard]] bool is_roomy() const {
    return (reinterpret_cast<std::uintptr_t>(data) | stride * sizeof(Scalar)) % output_alignment == 0;
  }

  /// The address of a row.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar* row(count_t k) const {
#ifdef KOKKOS_ENABLE_DEBUG
    KOKKOS_ASSERT(k < rows);
#endif
    return data + k * stride;
  }
};

}  // namespace polyad::detail
