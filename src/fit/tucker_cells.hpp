// SPDX-License-Identifier: BSD-3-Clause
// TuckerCells: entries of a Tucker model in a chosen precision, on a device or a host.
#pragma once

#include <Kokkos_Core.hpp>

#include "fit/double_double.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Scalar, class T>
struct TuckerCells {
  Scalar const* factors[max_order]{};  // U^(n), I_n x R_n, row-major
  count_t strides[max_order]{};
  count_t ranks[max_order]{};
  Scalar const* core  = nullptr;  // R_{N-1} x D, D the product of the other ranks, the last of them fastest
  count_t core_stride = 0;
  T const* table      = nullptr;  // U^(N-1) times the core, I_{N-1} x D; null: formed for each entry
  count_t columns     = 1;        // D
  int order           = 0;

  /// The entry at `index`.
  [[nodiscard]] KOKKOS_FUNCTION T operator()(count_t const* index) const {
    int const last          = order - 1;
    int const inner         = order - 2;
    Scalar const* const row = factors[inner] + index[inner] * strides[inner];
    count_t at[max_order]   = {};  // columns of the modes before `inner`
    T sum                   = 0.0;
    for (count_t first = 0; first < columns; first += ranks[inner]) {
      T part = 0.0;
      for (count_t r = 0; r < ranks[inner]; ++r)
        part += contracted(index[last], first + r) * static_cast<double>(row[r]);
      for (int n = 0; n < inner; ++n) part *= static_cast<double>(factors[n][index[n] * strides[n] + at[n]]);
      sum += part;
      for (int n = inner - 1; n >= 0 && ++at[n] == ranks[n]; --n) at[n] = 0;
    }
    return sum;
  }

  /// U^(N-1)(i, :) times a column of the core.
  [[nodiscard]] KOKKOS_FUNCTION T contracted(count_t i, count_t column) const {
    if (table != nullptr) return table[i * columns + column];
    Scalar const* const row = factors[order - 1] + i * strides[order - 1];
    T sum                   = 0.0;
    for (count_t r = 0; r < ranks[order - 1]; ++r)
      sum += T(static_cast<double>(core[r * core_stride + column])) * static_cast<double>(row[r]);
    return sum;
  }

  /// Rounded operations of one entry.
  [[nodiscard]] double roundings() const {
    return static_cast<double>(ranks[order - 1] + ranks[order - 2] + columns / ranks[order - 2]) + order;
  }
};

}  // namespace polyad::detail
