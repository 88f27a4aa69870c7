// SPDX-License-Identifier: BSD-3-Clause
// CpCells: entries of a CP model in a chosen precision, on a host or a device.
#pragma once

#include <Kokkos_Core.hpp>

#include "fit/double_double.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Scalar, class T>
struct CpCells {
  using number_type = T;

  Scalar const* factors[max_order]{};  // I_n x R, row-major
  count_t strides[max_order]{};
  double const* weights = nullptr;  // R
  int order             = 0;
  int rank              = 0;

  static constexpr int block = 8;

  /// The entry at `index`.
  [[nodiscard]] KOKKOS_FUNCTION T operator()(count_t const* index) const {
    T sums[block]{};
    int first = 0;
    for (; first + block <= rank; first += block) add_products(index, first, block, sums);
    if (first < rank) add_products(index, first, rank - first, sums);
    T sum = sums[0];
    for (int c = 1; c < block; ++c) sum += sums[c];
    return sum;
  }

  /// Adds the terms of some components, at most `block`. It is inlined with a constant count, so that a host
  /// uses vector instructions.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(count_t const* index, int first, int count,
                                                T (&sums)[block]) const {
    T product[block];
    for (int c = 0; c < count; ++c) product[c] = weights[first + c];
    for (int n = 0; n < order; ++n) {
      Scalar const* const row = factors[n] + index[n] * strides[n] + first;
      for (int c = 0; c < count; ++c) product[c] *= static_cast<double>(row[c]);
    }
    for (int c = 0; c < count; ++c) sums[c] += product[c];
  }

  /// Rounded operations of one entry.
  [[nodiscard]] double roundings() const { return static_cast<double>(order + rank / block + block + 1); }
};

}  // namespace polyad::detail
