// SPDX-License-Identifier: BSD-3-Clause
// The number of empty slices of each mode, by marking the others: linear in nonzeros and rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "cli/tensors/device_tensor.hpp"

namespace polyad::cli {

// Words, not bytes: a device has no atomic store of a byte, and Kokkos would take a lock for each.
template <class Where>
using Marks = Kokkos::View<unsigned int*, typename Where::device_type>;

template <class Indices>
struct MarkRows {
  Indices indices;
  Marks<Indices> marks;
  int mode;
  /// Others write the same mark to the same row: which of them comes last does not matter.
  KOKKOS_FUNCTION void operator()(count_t p) const { Kokkos::atomic_store(&marks(indices(p, mode)), 1U); }
};

template <class Where>
struct CountUnmarked {
  Marks<Where> marks;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& count) const {
    if (marks(i) == 0) ++count;
  }
};

/// Needs four bytes per row: for modes whose factors fit. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Where>
std::vector<std::uint64_t> count_empty_slices(Where const& space,
                                              CooTensor<Scalar, Index, Where> const& tensor) {
  using Range   = Kokkos::RangePolicy<Where, Kokkos::IndexType<count_t>>;
  using Indices = typename CooTensor<Scalar, Index, Where>::indices_type;
  std::vector<std::uint64_t> result;
  for (int n = 0; n < tensor.order(); ++n) {
    expect_fits(space, "a mark for each row of mode " + std::to_string(n), tensor.extents()[n],
                sizeof(unsigned int));
    Marks<Where> const marks(Kokkos::view_alloc(space, "polyad::marks"), tensor.extents()[n]);
    Kokkos::parallel_for("polyad::mark_rows", Range(space, 0, tensor.nnz()),
                         MarkRows<Indices>{tensor.indices(), marks, n});
    count_t empty = 0;
    Kokkos::parallel_reduce("polyad::count_unmarked", Range(space, 0, marks.extent(0)),
                            CountUnmarked<Where>{marks}, empty);
    result.push_back(empty);
  }
  return result;
}

}  // namespace polyad::cli
