// SPDX-License-Identifier: BSD-3-Clause
// fill_random (tensor/factor_matrices.hpp) of a matrix that has only some rows of its mode.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/counter_rng.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
struct FillRandomRows {
  FactorMatrix<Scalar, Space> matrix;
  std::uint64_t seed;
  std::uint64_t mode;
  count_t first;
  KOKKOS_FUNCTION void operator()(count_t row) const {
    for (count_t r = 0; r < matrix.extent(1); ++r)
      matrix(row, r) = static_cast<Scalar>(counter_uniform(seed, mode, first + row, r));
  }
};

/// matrix(i, r) = counter_uniform(seed, mode, first + i, r), rounded to Scalar. So the numbers do not depend
/// on the division of rows among ranks. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void fill_random_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix, std::uint64_t seed,
                      int mode, count_t first) {
  Kokkos::parallel_for("polyad::fill_random_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0)),
                       FillRandomRows<Scalar, Space>{matrix, seed, static_cast<std::uint64_t>(mode), first});
}

}  // namespace polyad::detail
