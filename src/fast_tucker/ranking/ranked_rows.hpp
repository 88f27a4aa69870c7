// SPDX-License-Identifier: BSD-3-Clause
// What recommend, similar and evaluate have in common: types, which rows have entries, and the kernels that
// copy rows of matrices.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space>
using QueryNumbers = Kokkos::View<count_t*, typename Space::device_type>;
template <class Space>
using QueryDoubles = Kokkos::View<double*, typename Space::device_type>;

using Mark = ObservedRows::value_type::value_type;

/// The rows of a mode: 0 for a row without entries in the training set. Without elements, every row has some.
template <class Space>
using Observed = Kokkos::View<Mark const*, typename Space::device_type>;

/// Copies the information about mode n to the device. Waits.
template <class Space>
Observed<Space> observed_of(Space const& space, ObservedRows const& observed, int n) {
  if (observed.empty() || observed[n].empty()) return {};
  auto const& rows = observed[n];
  Kokkos::View<Mark*, typename Space::device_type> const copy(uninitialized(space, "polyad::observed_rows"),
                                                              rows.size());
  Kokkos::deep_copy(
      space, copy,
      Kokkos::View<Mark const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(rows.data(), rows.size()));
  space.fence("polyad::observed_rows");
  return copy;
}

/// Whether row k of mode n has entries, as far as it is known. The row must belong to the mode.
inline bool is_observed(ObservedRows const& observed, int n, count_t k) {
  return observed.empty() || observed[n].empty() || observed[n][k] != 0;
}

/// \throws UsageError unless there is no information, or some about all rows of each mode
template <class Scalar, class Space>
void expect_observed_fits(FastTuckerModel<Scalar, Space> const& model, ObservedRows const& observed) {
  if (observed.empty()) return;
  POLYAD_EXPECTS(observed.size() == static_cast<std::size_t>(model.order()), "it is said of ",
                 observed.size(), " modes which rows were observed, but the model has ", model.order());
  for (int n = 0; n < model.order(); ++n)
    POLYAD_EXPECTS(observed[n].empty() || observed[n].size() == model.extents()[n], "it is said of ",
                   observed[n].size(), " rows of mode ", n, " whether they were observed, but the model has ",
                   model.extents()[n]);
}

/// How many of the rows of mode n have entries, at least 1.
inline count_t observed_count(ObservedRows const& observed, int n, count_t extent) {
  if (observed.empty() || observed[n].empty()) return extent;
  auto const& rows = observed[n];
  return std::max<count_t>(rows.size() - static_cast<count_t>(std::count(rows.begin(), rows.end(), 0)), 1);
}

/// rows(q, :) = the query's row of A: the mean of all rows, or zeros if the mode has no such row.
template <class Scalar, class Space>
struct GatherRows {
  QueryNumbers<Space> indices;  // number i of each of the batch's queries
  count_t stride;               // numbers of a query
  count_t position;             // i
  FactorMatrix<Scalar, Space> A;
  QueryDoubles<Space> mean;
  FactorMatrix<Scalar, Space> rows;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const q     = i / A.extent(1);
    count_t const j     = i % A.extent(1);
    count_t const index = indices(q * stride + position);
    rows(q, j)          = index < A.extent(0)  ? A(index, j)
                          : index == every_row ? static_cast<Scalar>(mean(j))
                                               : Scalar(0);
  }
};

/// Transposed(r, k) = C(k, r), of rows that are scaled to length 1 where cosines are asked for.
template <class Scalar, class Space>
struct TransposeRows {
  FactorMatrix<Scalar, Space> C;
  FactorMatrix<Scalar, Space> transposed;
  bool unit_rows;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    double scale = 1;
    if (unit_rows) {
      double largest = 0, squares = 0;  // scaled by the largest, squares cannot overflow
      for (count_t r = 0; r < C.extent(1); ++r)
        largest = Kokkos::max(largest, Kokkos::abs(static_cast<double>(C(k, r))));
      for (count_t r = 0; r < C.extent(1) && largest > 0; ++r) {
        double const c = static_cast<double>(C(k, r)) / largest;
        squares += c * c;
      }
      scale = squares > 0 ? 1 / Kokkos::sqrt(squares) : 0;
      for (count_t r = 0; r < C.extent(1); ++r)
        transposed(r, k) =
            largest > 0 ? static_cast<Scalar>(static_cast<double>(C(k, r)) / largest * scale) : Scalar(0);
      return;
    }
    for (count_t r = 0; r < C.extent(1); ++r) transposed(r, k) = C(k, r);
  }
};

template <class Space, class View>
auto to_host_copy(Space const& space, View const& view) {
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), view);
  Kokkos::deep_copy(space, host, view);
  return host;
}

}  // namespace polyad::detail
