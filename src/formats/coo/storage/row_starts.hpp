// SPDX-License-Identifier: BSD-3-Clause
// The first nonzero of each row, in an order that is sorted by one mode's rows.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// The row first <= k < last with starts[k] <= position < starts[k + 1], by binary search.
/// starts[first] <= position < starts[last].
KOKKOS_INLINE_FUNCTION count_t row_of_position(count_t const* starts, count_t first, count_t last,
                                               count_t position) {
  while (last - first > 1) {
    count_t const middle                        = first + (last - first) / 2;
    (starts[middle] <= position ? first : last) = middle;
  }
  return first;
}

/// A binary search for each row. Long runs of empty rows then cost no more than other rows.
template <class Source, class Starts>
struct FindRowStarts {
  Source source;
  Starts starts;
  count_t nnz;
  KOKKOS_FUNCTION void operator()(count_t row) const {
    count_t low  = 0;  // all nonzeros before belong to smaller rows
    count_t high = nnz;
    while (low < high) {
      count_t const middle = low + (high - low) / 2;
      if (source.row(middle) < row)
        low = middle + 1;
      else
        high = middle;
    }
    starts(row) = low;
  }
};

template <class Space, class Source>
Kokkos::View<count_t*, typename Space::device_type> make_row_starts(Space const& space, Source const& source,
                                                                    count_t rows, count_t nnz) {
  using Starts = Kokkos::View<count_t*, typename Space::device_type>;
  expect_fits(space, "where the rows of a mode begin", rows + 1, sizeof(count_t));
  Starts const starts(uninitialized(space, "polyad::row_starts"), rows + 1);
  Kokkos::parallel_for("polyad::find_row_starts",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rows + 1),
                       FindRowStarts<Source, Starts>{source, starts, nnz});
  return starts;
}

}  // namespace polyad::detail
