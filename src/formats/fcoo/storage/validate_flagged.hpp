// SPDX-License-Identifier: BSD-3-Clause
// Validates FlaggedNonzeros that were made or changed by hand. Inconsistent flags would make a kernel sum
// into the wrong rows, or write outside the output.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>

#include "formats/fcoo/build/build_flagged.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The number of faults of each kind. It is the result of a Kokkos reduction.
struct FlagFaults {
  count_t open_end    = 0;  // the last nonzero does not end its segment, or flags follow it
  count_t starts      = 0;  // a start flag disagrees with the bit flags
  count_t numbers     = 0;  // a partition's segment is not the number of ends before it
  count_t products    = 0;  // a product index lies outside its mode
  count_t coordinates = 0;  // an index coordinate lies outside its mode
  count_t order       = 0;  // segments do not increase
  KOKKOS_FUNCTION FlagFaults& operator+=(FlagFaults const& other) {
    open_end += other.open_end;
    starts += other.starts;
    numbers += other.numbers;
    products += other.products;
    coordinates += other.coordinates;
    order += other.order;
    return *this;
  }
};

}  // namespace polyad::detail

template <>
struct Kokkos::reduction_identity<polyad::detail::FlagFaults> {
  KOKKOS_FORCEINLINE_FUNCTION static polyad::detail::FlagFaults sum() { return {}; }
};

namespace polyad::detail {

template <class Nonzeros>
struct FindFlagFaults {
  Nonzeros X;
  FlagReader<Nonzeros> reader;
  typename Nonzeros::numbers_type first_segment;  // as the bit flags have it
  count_t partitions;

  KOKKOS_FUNCTION void check_partition(count_t q, FlagFaults& faults) const {
    bool const begins = (X.starts(q / Nonzeros::starts_bits) >> q % Nonzeros::starts_bits & 1U) != 0;
    if (begins != reader.begins(q)) ++faults.starts;
    if (X.first_segment(q) != first_segment(q)) ++faults.numbers;
  }
  KOKKOS_FUNCTION void check_segment(count_t s, FlagFaults& faults) const {
    int compared = 0;  // with the segment before: -1 less, 1 more
    for (count_t k = 0; k < X.coordinates.extent(0); ++k) {
      auto const index = X.coordinates(k, s);
      if (index >= X.extents[X.modes[k]]) ++faults.coordinates;
      if (s == 0 || compared != 0) continue;
      auto const before = X.coordinates(k, s - 1);
      compared          = index > before ? 1 : index < before ? -1 : 0;
    }
    if (s > 0 && compared != 1) ++faults.order;
  }
  KOKKOS_FUNCTION void operator()(count_t i, FlagFaults& faults) const {
    if (i < X.nnz) {
      for (count_t m = 0; m < X.indices.extent(0); ++m)
        if (X.indices(m, i) >= X.extents[X.modes[X.coordinates.extent(0) + m]]) ++faults.products;
    }
    if (i < partitions) check_partition(i, faults);
    if (i < X.segments) check_segment(i, faults);
    // The last nonzero, and the bits after it.
    if (i + 1 == X.nnz && (X.flags(i / Nonzeros::flags_bits) >> i % Nonzeros::flags_bits) != 0)
      ++faults.open_end;
  }
};

template <class View>
struct CountDifferences {
  View a;
  View b;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& differences) const {
    if (a(i) != b(i)) ++differences;
  }
};

/// Checks everything that the kernels rely on. Waits for `space`.
/// \throws UsageError that says what is wrong
template <class Scalar, class Index, class Space>
void validate(Space const& space, FlaggedNonzeros<Scalar, Index, Space> const& X) {
  using Nonzeros  = FlaggedNonzeros<Scalar, Index, Space>;
  using Range     = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  int const order = X.extents.order();
  bool const known =
      X.index_modes >= 1 && X.index_modes <= order && (X.rows == FCooRows::of_segments || X.index_modes == 1);
  POLYAD_EXPECTS(known, X.index_modes, " index modes of ", order);
  expect_threadlen(X.threadlen);
  unsigned seen = 0;
  for (int m = 0; m < order; ++m) {
    expect_mode(X.modes[m], X.extents);
    seen |= 1U << X.modes[m];
  }
  POLYAD_EXPECTS(seen + 1 == 1U << order, "a mode is named twice among index and product modes");
  count_t const product = X.product_modes();
  count_t const kept    = X.index_modes;
  POLYAD_EXPECTS(X.indices.extent(0) == product && (product == 0 || X.indices.extent(1) >= X.nnz) &&
                     X.values.extent(0) >= X.nnz,
                 "there is no product index or value for each of ", X.nnz, " nonzeros");
  POLYAD_EXPECTS(X.flags.extent(0) == ceil_div(X.nnz, Nonzeros::flags_bits) &&
                     X.starts.extent(0) == ceil_div(X.partitions(), Nonzeros::starts_bits) &&
                     X.first_segment.extent(0) == X.partitions(),
                 "the flags are not those of ", X.nnz, " nonzeros in partitions of ", X.threadlen);
  POLYAD_EXPECTS(X.coordinates.extent(0) == kept && X.coordinates.extent(1) == X.segments + 1,
                 "there are no coordinates of ", X.segments, " segments");
  if (X.nnz == 0) {
    POLYAD_EXPECTS(X.segments == 0, X.segments, " segments without nonzeros");
    return;
  }
  typename Nonzeros::numbers_type const first_segment(uninitialized(space, "polyad::counted_segments"),
                                                      X.partitions());
  detail::FlagReader<Nonzeros> const reader{X.flags, X.nnz, static_cast<count_t>(X.threadlen)};
  count_t segments = 0;
  Kokkos::parallel_scan("polyad::count_segments", Range(space, 0, X.partitions()),
                        detail::NumberPartitions<Nonzeros>{reader, first_segment}, segments);
  detail::FlagFaults faults;
  Kokkos::parallel_reduce("polyad::find_flag_faults", Range(space, 0, std::max(X.nnz, X.segments)),
                          detail::FindFlagFaults<Nonzeros>{X, reader, first_segment, X.partitions()},
                          Kokkos::Sum<detail::FlagFaults>(faults));
  space.fence("polyad::validate");
  POLYAD_EXPECTS(faults.open_end == 0, "the last nonzero does not end its segment, or flags follow it");
  POLYAD_EXPECTS(segments == X.segments, "the bit flags end ", segments, " segments, not ", X.segments);
  POLYAD_EXPECTS(faults.starts == 0, faults.starts, " start flags disagree with the bit flags");
  POLYAD_EXPECTS(faults.numbers == 0, faults.numbers,
                 " partitions name a segment that is not the one they begin in");
  POLYAD_EXPECTS(faults.products == 0, faults.products, " product indices lie outside their modes");
  POLYAD_EXPECTS(faults.coordinates == 0, faults.coordinates,
                 " coordinates of segments lie outside their modes");
  POLYAD_EXPECTS(faults.order == 0, faults.order,
                 " segments do not come after the one before them: unsorted");

  auto const cleared = repartitioned(space, X, X.threadlen).cleared;
  count_t missing    = cleared.extent(0) == X.cleared.extent(0) ? 0 : 1;
  if (missing == 0)
    Kokkos::parallel_reduce("polyad::compare_cleared", Range(space, 0, cleared.extent(0)),
                            detail::CountDifferences<typename Nonzeros::numbers_type>{cleared, X.cleared},
                            missing);
  POLYAD_EXPECTS(missing == 0, "the rows to be cleared are not those that no partition stores whole");
}

}  // namespace polyad::detail
