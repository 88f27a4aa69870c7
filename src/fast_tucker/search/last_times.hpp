// SPDX-License-Identifier: BSD-3-Clause
// The last times of a set: where they begin, entries before and after a time, and coarser steps of time.
// Drifts of biases are judged by entries that are later than those they were fitted to, and a search takes
// fine times in steps.
#pragma once

#include <Kokkos_Core.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "fast_tucker/entries.hpp"
#include "fast_tucker/search/gather_entries.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// Whether an entry's time is before `cut`, or not before it.
template <class Index>
struct IsAtTimes {
  int mode;
  count_t cut;
  bool late;
  KOKKOS_FUNCTION bool operator()(Index const* index) const { return (index[mode] >= cut) == late; }
};

/// The entries with times before `cut`, or from it on. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> entries_at_times(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                                 int time_mode, count_t cut, bool late) {
  return gather_entries(space, X, IsAtTimes<Index>{time_mode, cut, late},
                        [&](count_t nnz) { return make_coo_tensor<Scalar, Index>(space, X.extents(), nnz); });
}

/// The time from which on there is about this share of the entries; whole times, and at least the last one.
/// Nothing if that is more than half of the entries. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
std::optional<count_t> begin_of_last_times(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                           int time_mode, double share) {
  auto const on_device = entries_of_rows(space, TrainingSet<Scalar, Index, Space>(X), time_mode,
                                         RowDistribution<Scalar, Space>(space, X.extents()));
  auto const counts    = Kokkos::create_mirror_view(on_device);
  Kokkos::deep_copy(space, counts, on_device);
  space.fence("polyad::last_times");
  count_t late = 0;
  for (count_t t = counts.extent(0); t > 0; --t) {
    late += counts(t - 1);
    if (static_cast<double>(late) < share * static_cast<double>(X.nnz())) continue;
    if (2 * late > X.nnz()) return std::nullopt;
    return t - 1;
  }
  return std::nullopt;
}

template <class Index>
struct CoarsenTimes {
  Index const* from;
  Index* to;
  count_t order;
  int mode;
  count_t steps, times;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    to[i] = i % order == count_t(mode) ? static_cast<Index>(time_bin(from[i], steps, times)) : from[i];
  }
};

/// The same entries with `steps` times of equal length. It shares the values. \throws MemoryError
template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> with_coarse_times(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& X, int time_mode,
                                                  count_t steps) {
  std::vector<count_t> extents;
  for (int n = 0; n < X.order(); ++n) extents.push_back(n == time_mode ? steps : X.extents()[n]);
  auto const coarse =
      make_coo_tensor<Scalar, Index>(space, Extents{std::span<count_t const>(extents)}, X.nnz());
  auto const order = X.indices().extent(1);
  Kokkos::parallel_for("polyad::coarsen_times",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz() * order),
                       CoarsenTimes<Index>{X.indices().data(), coarse.indices().data(), order, time_mode,
                                           steps, X.extents()[time_mode]});
  return {coarse.extents(), coarse.indices(), X.values()};
}

template <class Matrix>
struct RepeatRows {
  Matrix from, to;
  count_t columns;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const row    = i / columns;
    to(row, i % columns) = from(time_bin(row, from.extent(0), to.extent(0)), i % columns);
  }
};
template <class Vector>
struct RepeatNumbers {
  Vector from, to;
  KOKKOS_FUNCTION void operator()(count_t row) const {
    to(row) = from(time_bin(row, from.extent(0), to.extent(0)));
  }
};

/// A model of coarse times as one of all times, each with the row of its step. It shares the rest.
/// \throws MemoryError
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> with_fine_times(Space const& space,
                                               FastTuckerModel<Scalar, Space> const& coarse, int time_mode,
                                               Extents const& extents) {
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Matrix = FactorMatrix<Scalar, Space>;
  std::vector<count_t> columns;
  for (int n = 0; n < coarse.order(); ++n) columns.push_back(coarse.columns(n));
  FastTuckerModel<Scalar, Space> model(space, extents, columns, coarse.rank(), coarse.has_biases());
  for (int n = 0; n < coarse.order(); ++n) {
    model.B(n)     = coarse.B(n);
    model.drift(n) = coarse.drift(n);
    if (n == time_mode) continue;
    model.A(n) = coarse.A(n);
    if (coarse.has_biases()) model.bias(n) = coarse.bias(n);
  }
  count_t const J = columns[time_mode];
  Kokkos::parallel_for("polyad::fine_times", Range(space, 0, extents[time_mode] * J),
                       RepeatRows<Matrix>{coarse.A(time_mode), model.A(time_mode), J});
  if (coarse.has_biases())
    Kokkos::parallel_for(
        "polyad::fine_times", Range(space, 0, extents[time_mode]),
        RepeatNumbers<BiasVector<Scalar, Space>>{coarse.bias(time_mode), model.bias(time_mode)});
  model.mean      = coarse.mean;
  model.range     = coarse.range;
  model.time_mode = coarse.time_mode;
  space.fence("polyad::fine_times");
  return model;
}

}  // namespace polyad::detail
