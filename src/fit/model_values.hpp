// SPDX-License-Identifier: BSD-3-Clause
// Values of CP and Tucker models at coordinates in double precision (fit/predict.hpp). The vector lanes of a
// thread share an entry: for CP each lane has columns of the factors' rows, for Tucker columns of the core
// unfolded by its last mode.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// A lane's columns of a row as doubles; 0 beyond column R. On devices the row is packed.
template <class Row, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void read_doubles(Scalar const* row, Columns columns, double (&to)[Row::width]) {
  if constexpr (Row::form == RowForm::packed) {
    auto const pack = *reinterpret_cast<Pack<Scalar, Row::width> const*>(row + columns.first);
    for (int e = 0; e < Row::width; ++e)
      to[e] = e < columns.count ? static_cast<double>(pack.element[e]) : 0.0;
  } else if (columns.count == Row::width) {
    for (int e = 0; e < Row::width; ++e) to[e] = static_cast<double>(row[columns.first + e]);
  } else {
    for (int e = 0; e < Row::width; ++e)
      to[e] = e < columns.count ? static_cast<double>(row[columns.first + e]) : 0.0;
  }
}

/// The factors' rows, found by the tensor's numbers.
template <class Scalar>
struct RowsOfModel {
  Scalar const* factors[max_order]{};  // I_n x R_n, row-major
  count_t strides[max_order]{};
  count_t const* numbers[max_order]{};  // the stored rows, which increase; null: all rows are stored
  count_t stored[max_order]{};          // how many of them
  int order = 0;

  /// Where the factors have the rows of an entry. Returns false if a row is not stored.
  template <class Index>
  [[nodiscard]] KOKKOS_FUNCTION bool find(Index const* index, Scalar const* (&rows)[max_order]) const {
    for (int n = 0; n < order; ++n) {
      auto const row = static_cast<count_t>(index[n]);
      count_t at     = row;
      if (numbers[n] != nullptr) {
        at           = 0;
        count_t left = stored[n];
        while (left > 0) {
          count_t const half = left / 2;
          bool const behind  = numbers[n][at + half] < row;
          at += behind ? half + 1 : 0;
          left = behind ? left - half - 1 : half;
        }
        if (at == stored[n] || numbers[n][at] != row) return false;
      }
      rows[n] = factors[n] + at * strides[n];
    }
    return true;
  }
};

/// sum over r of lambda_r times the product of the rows' elements in column r.
template <class Space, class Scalar, int Block>
struct CpValue {
  using space_type  = Space;
  using scalar_type = Scalar;
  using Row         = TinyVec<Space, Scalar, Block>;

  RowsOfModel<Scalar> rows;
  double const* weights;  // R
  int rank;

  /// All lanes call it, and get the sum.
  [[nodiscard]] KOKKOS_FUNCTION double operator()(Scalar const* const (&row)[max_order], int lane) const {
    double sum = 0;
    for (int first = 0; first < rank; first += Block) {
      Columns const columns = columns_or_none<Row>(first, rank, lane);
      double product[Row::width];
      for (int e = 0; e < Row::width; ++e) product[e] = e < columns.count ? weights[columns.first + e] : 0.0;
      for (int n = 0; n < rows.order; ++n) {
        double elements[Row::width];
        read_doubles<Row>(row[n], columns, elements);
        for (int e = 0; e < Row::width; ++e) product[e] *= elements[e];
      }
      for (int e = 0; e < Row::width; ++e) sum += product[e];
    }
    return sum_over_lanes<Row::lanes>(sum);
  }
};

/// The core times a row of each mode.
template <class Space, class Scalar, int Block>
struct TuckerValue {
  using space_type  = Space;
  using scalar_type = Scalar;
  using Row         = TinyVec<Space, Scalar, Block>;

  RowsOfModel<Scalar> rows;
  int ranks[max_order]{};
  Scalar const* core  = nullptr;  // R_{N-1} x D, D the product of the other ranks, the last of them fastest
  count_t core_stride = 0;
  int columns         = 0;  // D

  /// All lanes call it, and get the sum.
  [[nodiscard]] KOKKOS_FUNCTION double operator()(Scalar const* const (&row)[max_order], int lane) const {
    int const last = rows.order - 1;
    double sum     = 0;
    for (int first = 0; first < columns; first += Block) {
      Columns const mine = columns_or_none<Row>(first, columns, lane);
      double products[Row::width]{};  // the core times the row of the last mode
      for (int r = 0; r < ranks[last]; ++r) {
        double elements[Row::width];
        read_doubles<Row>(core + static_cast<count_t>(r) * core_stride, mine, elements);
        auto const factor = static_cast<double>(row[last][r]);
        for (int e = 0; e < Row::width; ++e) products[e] += factor * elements[e];
      }
      int at[max_order];  // the other modes' columns
      int rest = mine.first;
      for (int n = last - 1; n >= 0; --n) {
        at[n] = rest % ranks[n];
        rest /= ranks[n];
      }
      for (int e = 0; e < mine.count; ++e) {
        double product = products[e];
        for (int n = 0; n < last; ++n) product *= static_cast<double>(row[n][at[n]]);
        sum += product;
        for (int n = last - 1; n >= 0 && ++at[n] == ranks[n]; --n) at[n] = 0;
      }
    }
    return sum_over_lanes<Row::lanes>(sum);
  }
};

/// The use of the values: one of the pointers is not null.
template <class Scalar>
struct ValueOutputs {
  Scalar* values    = nullptr;  // one per entry
  Scalar* residuals = nullptr;  // one per entry
  /// Three per chunk: the largest absolute error, the sum of the squares of the errors divided by it, and
  /// the sum of the absolute errors. So squares neither overflow nor vanish.
  double* sums = nullptr;
};

/// Walks over entries and writes their values, residuals or sums of errors.
template <class Value, class Index>
struct ValuesOfEntries {
  using Row    = typename Value::Row;
  using Scalar = typename Value::scalar_type;

  Value value;
  Index const* indices;  // P x N
  Scalar const* given;   // P
  ValueOutputs<Scalar> out;
  WholeRowWalk entries;

  [[nodiscard]] KOKKOS_FUNCTION double at(count_t p, int lane) const {
    Scalar const* rows[max_order];
    bool const found = value.rows.find(indices + p * static_cast<count_t>(value.rows.order), rows);
    return found ? value(rows, lane) : 0.0;  // the same on all lanes
  }

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, int lane) const {
    double largest = 0, squares = 0, absolutes = 0;
    for (count_t p = begin; p < end; ++p) {
      double const number = at(p, lane);
      if (out.values != nullptr) {
        if (lane == 0) out.values[p] = static_cast<Scalar>(number);
        continue;
      }
      double const error = static_cast<double>(given[p]) - number;
      if (out.residuals != nullptr) {
        if (lane == 0) out.residuals[p] = static_cast<Scalar>(error);
        continue;
      }
      double const size = Kokkos::abs(error);
      absolutes += size;
      if (size > largest) {
        double const share = largest / size;
        squares            = 1 + squares * share * share;
        largest            = size;
      } else if (!(size == 0)) {  // NaN comes here, and stays
        double const share = size / largest;
        squares += share * share;
      }
    }
    if (out.sums != nullptr && lane == 0) {
      double* const sums = out.sums + 3 * (begin / entries.chunk);
      sums[0]            = largest;
      sums[1]            = squares;
      sums[2]            = absolutes;
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    entries.template operator()<Row>(member,
                                     [&](count_t begin, count_t end, int lane) { walk(begin, end, lane); });
  }
};

}  // namespace polyad::detail
