// SPDX-License-Identifier: BSD-3-Clause
// Classes of rows by the number of their entries: a model may be better than mean and biases for rows with
// many entries and worse for rows with few. The rows of a class for which it is worse are left to mean and
// biases: C^(n) gets zeros in them. The times after the last one with entries are left to these, too, if the
// model is not better for the latest entries.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <vector>

#include "fast_tucker/entries.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

inline constexpr int row_classes = 3;
/// The smallest number of entries of the rows of each class.
inline constexpr count_t class_begins[row_classes] = {0, 4, 20};
/// Rows after the last one with entries: the bit of one more class, to which rows of the others may belong.
inline constexpr int later_rows = row_classes;

[[nodiscard]] KOKKOS_INLINE_FUNCTION int class_of_row(count_t entries) {
  return entries < 4 ? 0 : entries < 20 ? 1 : 2;
}

template <class Space>
using RowCounts = Kokkos::View<std::uint64_t*, typename Space::device_type>;

template <class Index, class Counts>
struct CountEntriesOfRows {
  Index const* indices;
  count_t order;
  count_t mode;
  Counts counts;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    Kokkos::atomic_inc(&counts(static_cast<count_t>(indices[p * order + mode])));  // other entries too
  }
};

/// The number of entries of each row of mode n on all ranks. \throws MemoryError
template <class Scalar, class Index, class Space>
RowCounts<Space> entries_of_rows(Space const& space, TrainingSet<Scalar, Index, Space> const& X, int n,
                                 RowDistribution<Scalar, Space> const& rows) {
  using Counts        = RowCounts<Space>;
  count_t const count = X.extents()[n];
  auto const counts   = rows.together([&] {
    expect_fits(space, "the entries of each row", count, sizeof(std::uint64_t));
    return Counts(Kokkos::view_alloc(space, "polyad::entries_of_rows"), count);
  });
  X.for_each_stretch(space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch,
                                count_t /*first*/) {
    Kokkos::parallel_for(
        "polyad::count_entries", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(on, 0, stretch.nnz()),
        CountEntriesOfRows<Index, Counts>{stretch.indices().data(), static_cast<count_t>(X.order()),
                                          static_cast<count_t>(n), counts});
  });
  rows.sum(counts.data(), count);
  return counts;
}

template <class Counts>
struct LastRow {
  Counts counts;
  KOKKOS_FUNCTION void operator()(count_t row, count_t& end) const {
    if (counts(row) > 0 && row >= end) end = row + 1;
  }
};

/// The number of rows up to the last one with entries.
template <class Space>
count_t rows_with_entries(Space const& space, RowCounts<Space> const& counts) {
  count_t end = 0;
  Kokkos::parallel_reduce("polyad::last_row",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, counts.extent(0)),
                          LastRow<RowCounts<Space>>{counts}, Kokkos::Max<count_t>(end));
  return end;
}

template <class Scalar, class Space>
struct ZeroRowsOfClasses {
  FactorMatrix<Scalar, Space> A;
  RowCounts<Space> counts;
  count_t first;          // the row of the whole factor that is A's first one
  std::uint64_t classes;  // bit k: class k
  count_t later;          // the first one of the later rows, if these are left, too
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (first + k < later && (classes >> class_of_row(counts(first + k)) & 1) == 0) return;
    for (count_t j = 0; j < A.extent(1); ++j) A(k, j) = 0;
  }
};

/// Zeros the rows of these classes in the factors, and with them in C^(n), whose factors have the rows that
/// this rank owns. \param classes  one number per mode, bit k for class k; or none
/// \throws MemoryError
template <class Scalar, class Index, class Space>
void leave_to_biases(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                     std::vector<std::uint64_t> const& classes, FastTuckerModel<Scalar, Space> const& model,
                     RowDistribution<Scalar, Space> const& rows) {
  for (int n = 0; n < static_cast<int>(classes.size()); ++n) {
    if (classes[n] == 0) continue;
    auto const counts = entries_of_rows(space, X, n, rows);
    auto const& A     = model.A(n);
    count_t const later =
        (classes[n] >> later_rows & 1) != 0 ? rows_with_entries(space, counts) : X.extents()[n];
    Kokkos::parallel_for("polyad::leave_to_biases",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rows.rows(n)),
                         ZeroRowsOfClasses<Scalar, Space>{A, counts, rows.first_row(n), classes[n], later});
    space.fence("polyad::leave_to_biases");
  }
}

[[nodiscard]] inline bool leaves_rows(std::vector<std::uint64_t> const& classes) {
  for (std::uint64_t const of_mode : classes)
    if (of_mode != 0) return true;
  return false;
}

}  // namespace polyad::detail
