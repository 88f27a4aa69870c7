// SPDX-License-Identifier: BSD-3-Clause
// Sums of long rows in pieces. A float that has added thousands of terms of one sign loses digits with each
// further term. So no float adds more than about 255 terms. A walk over a chunk of the nonzeros stops
// whenever a row has taken that many terms since its last stop. It then moves the row's sums into doubles,
// and the row begins again at zero. These doubles are a slot: R numbers for each long row of a chunk. At the
// end of the MTTKRP the slots are added to the output, chunk after chunk
// (formats/blco/kernels/merge/merge_long_rows.hpp).
//
// The stops depend only on the order of the nonzeros. They are listed when the format is built
// (formats/blco/build/find_long_rows.hpp), so the walk between two stops is the same as without them. Doubles
// have no stops, and devices have other walks.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "kernel/piece_sums.hpp"
#include "kernel/prefetch.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// A stop: a row has added terms_of_a_piece terms since its last stop.
struct LongRowStop {
  count_t end;   // the nonzero after the last one of the piece
  count_t row;   // its sums move ...
  count_t slot;  // ... to this row of the doubles
};

/// The stops of one mode as a walk sees them, and the doubles.
template <class Scalar>
struct LongRowSums {
  count_t const* begins    = nullptr;  // the first stop of each chunk, and the number of stops; null: none
  LongRowStop const* stops = nullptr;  // with an entry after the last one
  RowsAt<double> slots     = {};

  /// The first stop of a chunk. The first one of the next chunk is the end.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t begin([[maybe_unused]] count_t chunk) const {
    if constexpr (sums_in_pieces<Scalar>)
      return begins == nullptr ? 0 : begins[chunk];
    else
      return 0;
  }
  /// Moves these columns of a stop's row into its slot. Forced inline: a call would make the compiler reload
  /// all members of the walk (alto on a tensor of long rows, R = 16, one thread: 15 % slower).
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void move(count_t stop, Scalar* row, Columns columns) const {
    double* const slot = slots.row(stops[stop].slot) + columns.first;
    // The next slot is rarely in the first-level cache. An unused entry follows the last stop.
    double const* const next = slots.row(stops[stop + 1].slot) + columns.first;
    prefetch_row<Row>(next);
    prefetch_row<Row>(next + Row::block / 2);
    row += columns.first;
    if (columns.count == Row::width)
      move_columns(row, slot, Row::width);  // a constant, so the compiler vectorises the loop
    else
      move_columns(row, slot, columns.count);
  }

private:
  KOKKOS_FORCEINLINE_FUNCTION static void move_columns(Scalar* row, double* slot, int count) {
    for (int c = 0; c < count; ++c) {
      slot[c] += row[c];
      row[c] = Scalar(0);
    }
  }
};

/// The stops of one mode.
template <class Space>
struct StopsOfMode {
  using Numbers = Kokkos::View<count_t*, typename Space::device_type>;

  Numbers begins;  // as in LongRowSums; empty if no row is long
  Kokkos::View<LongRowStop*, typename Space::device_type> stops;  // with an entry after the last one
  Numbers rows;       // all rows that are long in a chunk, in increasing order
  Numbers row_slots;  // the first slot of each row, whose slots are in the order of the chunks; and the end
  count_t slots = 0;

  [[nodiscard]] count_t storage_bytes() const {
    return (begins.extent(0) + rows.extent(0) + row_slots.extent(0)) * sizeof(count_t) +
           stops.extent(0) * sizeof(LongRowStop);
  }
};

/// The stops of all modes.
template <class Space>
class LongRowStops {
public:
  LongRowStops() = default;
  explicit LongRowStops(int modes) : m_modes(modes) {}

  void enter(int mode, StopsOfMode<Space> stops) { m_modes[mode] = std::move(stops); }
  /// No slots if the format has no stops.
  [[nodiscard]] count_t slots(int mode) const { return m_modes.empty() ? 0 : of(mode).slots; }
  [[nodiscard]] StopsOfMode<Space> const& of(int mode) const { return m_modes[mode]; }
  /// \param slots  with rows for all slots of the mode
  template <class Scalar>
  [[nodiscard]] LongRowSums<Scalar> sums(int mode, FactorMatrix<double, Space> const& slots) const {
    if (this->slots(mode) == 0) return {};
    return {of(mode).begins.data(), of(mode).stops.data(), RowsAt<double>(slots)};
  }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (auto const& mode : m_modes) bytes += mode.storage_bytes();
    return bytes;
  }

private:
  std::vector<StopsOfMode<Space>> m_modes;
};

}  // namespace polyad::detail
