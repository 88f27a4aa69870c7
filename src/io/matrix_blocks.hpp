// SPDX-License-Identifier: BSD-3-Clause
// The elements of a matrix of any execution space in blocks, for files.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "io/element_blocks.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::io {

/// The elements of a matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] ElementBlocks element_blocks(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  auto read = [space, matrix, block = std::vector<double>()](std::uint64_t first,
                                                             std::uint64_t count) mutable {
    auto const rows =
        Kokkos::subview(matrix, Kokkos::make_pair(count_t(first), count_t(first + count)), Kokkos::ALL);
    block = to_host<Scalar>(space, FactorMatrix<Scalar, Space>(rows));
    return std::span<double const>(block);
  };
  return {matrix.extent(0), matrix.extent(1), std::move(read), sizeof(Scalar) == sizeof(float)};
}

}  // namespace polyad::io
