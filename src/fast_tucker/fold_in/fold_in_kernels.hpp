// SPDX-License-Identifier: BSD-3-Clause
// The kernels of fold_in and update_rows (fast_tucker/fast_tucker.hpp).
#pragma once

#include <Kokkos_Core.hpp>

#include "fast_tucker/ranking/ranked_rows.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

template <class Space>
using MarkedRows = Kokkos::View<count_t*, typename Space::device_type>;

/// Moves later times to the last one.
template <class Index, class Space>
struct ClampTimes {
  Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type> indices;
  int mode;
  count_t last;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    if (static_cast<count_t>(indices(p, mode)) > last) indices(p, mode) = static_cast<Index>(last);
  }
};

/// Marks the rows that occur, and the last one for those beyond it. Several entries may write the same 1.
template <class Index, class Space>
struct MarkAdded {
  Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type> indices;
  int mode;
  MarkedRows<Space> marks;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    auto const k         = static_cast<count_t>(indices(p, mode));
    count_t const extent = marks.extent(0);
    Kokkos::atomic_store(&marks(k < extent ? k : extent - 1), count_t(1));
  }
};

/// Marks the rows from `first` on. Before it, the marks of rows stay of which the training set has no entry.
template <class Space>
struct MarkNew {
  MarkedRows<Space> marks;
  count_t first;
  Observed<Space> observed;  // has the rows before `first`
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (k >= first)
      marks(k) = 1;
    else if (observed.extent(0) == 0 || observed(k) != 0)
      marks(k) = 0;
  }
};

/// numbers(k) = how many rows before k are marked.
template <class Space>
struct NumberMarked {
  MarkedRows<Space> marks, numbers;
  KOKKOS_FUNCTION void operator()(count_t k, count_t& before, bool is_final) const {
    count_t const mark = marks(k);
    if (is_final) numbers(k) = before;
    before += mark;
  }
};

/// Copies the entries of marked rows, with the rows' numbers; without `copies` it only counts them.
template <class Scalar, class Index, class Space>
struct SelectEntries {
  using Tensor = CooTensor<Scalar, Index, Space>;
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  int mode;
  MarkedRows<Space> marks, numbers;
  typename Tensor::indices_type to_indices;
  typename Tensor::values_type to_values;
  bool copies;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& before, bool is_final) const {
    auto const k = static_cast<count_t>(indices(p, mode));
    if (marks(k) == 0) return;
    if (is_final && copies) {
      for (count_t m = 0; m < indices.extent(1); ++m) to_indices(before, m) = indices(p, m);
      to_indices(before, mode) = static_cast<Index>(numbers(k));
      to_values(before)        = values(p);
    }
    ++before;
  }
};

/// The same values minus the numbers of their rows.
template <class Scalar, class Index, class Space>
struct SubtractBiases {
  typename CooTensor<Scalar, Index, Space>::indices_type indices;
  typename CooTensor<Scalar, Index, Space>::values_type values;
  int mode;
  Kokkos::View<double*, typename Space::device_type> biases;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    values(p) =
        static_cast<Scalar>(static_cast<double>(values(p)) - biases(static_cast<count_t>(indices(p, mode))));
  }
};

/// biases(i) = sums(i) / (damping + the row's entries), 0 for a row without entries and without damping.
template <class Scalar, class Space>
struct DampedMeans {
  FactorMatrix<Scalar, Space> sums;
  Kokkos::View<count_t*, typename Space::device_type> starts;
  double damping;
  Kokkos::View<double*, typename Space::device_type> biases;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    double const weight = damping + static_cast<double>(starts(i + 1) - starts(i));
    biases(i)           = weight > 0 ? static_cast<double>(sums(i, 0)) / weight : 0.0;
  }
};

/// Puts solved rows and biases where they belong.
template <class Scalar, class Space>
struct PutRows {
  MarkedRows<Space> marks, numbers;
  FactorMatrix<Scalar, Space> solved, A;
  Kokkos::View<double*, typename Space::device_type> biases;  // without numbers where the model has no biases
  BiasVector<Scalar, Space> bias;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (marks(k) == 0) return;
    count_t const i = numbers(k);
    for (count_t j = 0; j < A.extent(1); ++j) A(k, j) = solved(i, j);
    if (biases.extent(0) > 0) bias(k) = static_cast<Scalar>(biases(i));
  }
};

/// The classes of rows (row_classes.hpp) whose rows are zero, or not, in a model that has them already: bit k
/// of `classes` is set for class k. The rows are those that are solved again, since all of their entries are
/// known.
template <class Scalar, class Space>
struct ClassesOfRows {
  MarkedRows<Space> marks;
  RowCounts<Space> entries, added;  // how many each row has; the added ones are among the entries
  FactorMatrix<Scalar, Space> A;
  bool zero;  // which rows are meant
  KOKKOS_FUNCTION void operator()(count_t k, std::uint64_t& classes) const {
    if (marks(k) == 0 || entries(k) <= added(k)) return;
    bool is_zero = true;
    for (count_t j = 0; j < A.extent(1); ++j) is_zero = is_zero && A(k, j) == 0;
    if (is_zero == zero) classes |= std::uint64_t(1) << class_of_row(entries(k) - added(k));
  }
};

/// Zeros the solved rows of these classes.
template <class Scalar, class Space>
struct ZeroSolvedRows {
  MarkedRows<Space> marks;
  RowCounts<Space> entries;
  FactorMatrix<Scalar, Space> A;
  std::uint64_t classes;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (marks(k) == 0 || (classes >> class_of_row(entries(k)) & 1) == 0) return;
    for (count_t j = 0; j < A.extent(1); ++j) A(k, j) = 0;
  }
};

/// Puts solved biases where they belong.
template <class Scalar, class Space>
struct PutBiases {
  MarkedRows<Space> marks, numbers;
  Kokkos::View<double*, typename Space::device_type> biases;
  BiasVector<Scalar, Space> bias;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (marks(k) != 0) bias(k) = static_cast<Scalar>(biases(numbers(k)));
  }
};

/// Zeroes the biases of marked rows.
template <class Scalar, class Space>
struct ForgetBiases {
  MarkedRows<Space> marks;
  BiasVector<Scalar, Space> bias;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (marks(k) != 0) bias(k) = 0;
  }
};

/// The sum of c(k, r)^2, and of the rows that are not zero, for all r of a matrix: (R + 1) numbers.
template <class Scalar, class Space>
struct SumOfColumn {
  FactorMatrix<Scalar, Space> C;
  count_t column;  // R: the rows that are not zero
  KOKKOS_FUNCTION void operator()(count_t k, double& sum) const {
    if (column < C.extent(1)) {
      auto const c = static_cast<double>(C(k, column));
      sum += c * c;
      return;
    }
    bool is_zero = true;
    for (count_t r = 0; r < C.extent(1); ++r) is_zero = is_zero && C(k, r) == 0;
    sum += is_zero ? 0 : 1;
  }
};

/// The least row of C that is not zero.
template <class Scalar, class Space>
struct FirstRow {
  FactorMatrix<Scalar, Space> C;
  KOKKOS_FUNCTION void operator()(count_t k, count_t& first) const {
    if (k >= first) return;
    for (count_t r = 0; r < C.extent(1); ++r)
      if (C(k, r) != 0) first = k;
  }
};

/// The number of rows of C that are neither zero nor ones.
template <class Scalar, class Space>
struct FittedRows {
  FactorMatrix<Scalar, Space> C;
  KOKKOS_FUNCTION void operator()(count_t k, count_t& count) const {
    constexpr double rounding = 1e-5;
    bool is_zero = true, is_one = true;
    for (count_t r = 0; r < C.extent(1); ++r) {
      auto const c = static_cast<double>(C(k, r));
      is_zero      = is_zero && c == 0;
      is_one       = is_one && Kokkos::abs(c - 1) < rounding;
    }
    count += is_zero || is_one ? 0 : 1;
  }
};

/// Rows from `first` on get the numbers of row `from`.
template <class Scalar, class Space>
struct CopyRow {
  FactorMatrix<Scalar, Space> A;
  count_t first;
  count_t from;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    for (count_t j = 0; j < A.extent(1); ++j) A(first + k, j) = A(from, j);
  }
};

}  // namespace polyad::detail
