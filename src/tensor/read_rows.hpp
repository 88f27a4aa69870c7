// SPDX-License-Identifier: BSD-3-Clause
// Reads some rows of a matrix into host memory, for files that are written in blocks.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// A function that returns `count` rows from row `first` on, in host memory. They are valid until its next
/// call. It shares the matrix, and each call waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] auto reader_of_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  return [space, matrix, block = std::vector<double>()](std::uint64_t first, std::uint64_t count) mutable {
    auto const rows =
        Kokkos::subview(matrix, Kokkos::make_pair(count_t(first), count_t(first + count)), Kokkos::ALL);
    block = to_host<Scalar>(space, FactorMatrix<Scalar, Space>(rows));
    return std::span<double const>(block);
  };
}

}  // namespace polyad::detail
