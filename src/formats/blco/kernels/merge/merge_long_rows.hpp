// SPDX-License-Identifier: BSD-3-Clause
// The doubles to which walks move the sums of long rows (formats/blco/storage/long_row_stops.hpp). They are
// zeroed before the walk. After it, when the output has all other sums, they are added to it in the order of
// the chunks.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/storage/long_row_stops.hpp"
#include "kernel/launch.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// One row of the output: V(k, :) += its slots. The sum is rounded to Scalar once. The first slot is used up.
template <class Scalar>
struct MergeLongRows {
  count_t const* rows;
  count_t const* row_slots;
  RowsAt<double> slots;
  RowsAt<Scalar> output;
  count_t rank;

  KOKKOS_FUNCTION void operator()(count_t i) const {
    double* const sum   = slots.row(row_slots[i]);
    Scalar* const total = output.row(rows[i]);
    for (count_t slot = row_slots[i] + 1; slot < row_slots[i + 1]; ++slot)
      for (count_t r = 0; r < rank; ++r) sum[r] += slots.row(slot)[r];
    for (count_t r = 0; r < rank; ++r) total[r] = static_cast<Scalar>(total[r] + sum[r]);
  }
};

template <class Space>
void clear_long_rows(Space const& space, count_t slots, FactorMatrix<double, Space> const& doubles) {
  if (slots == 0) return;
  Kokkos::deep_copy(space, Kokkos::subview(doubles, Kokkos::make_pair(count_t(0), slots), Kokkos::ALL), 0.0);
}

/// Adds the slots of a mode to V. Does not wait.
template <class Space, class Scalar>
void merge_long_rows(Space const& space, LongRowStops<Space> const& stops, int mode,
                     FactorMatrix<double, Space> const& slots, FactorMatrix<Scalar, Space> const& V) {
  if (stops.slots(mode) == 0) return;
  auto const& of_mode = stops.of(mode);
  using Range         = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  detail::launch("polyad::merge_long_rows", Range(space, 0, of_mode.rows.extent(0)),
                 MergeLongRows<Scalar>{of_mode.rows.data(), of_mode.row_slots.data(), RowsAt<double>(slots),
                                       RowsAt<Scalar>(V), V.extent(1)});
}

}  // namespace polyad::detail
