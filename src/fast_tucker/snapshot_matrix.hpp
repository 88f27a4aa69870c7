// SPDX-License-Identifier: BSD-3-Clause
// A matrix of a run in a FastTuckerSnapshot.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"

namespace polyad::detail {

/// The matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] FastTuckerSnapshot::Matrix snapshot_matrix(Space const& space,
                                                         FactorMatrix<Scalar, Space> const& matrix) {
  auto read = [space, matrix, block = std::vector<double>()](std::uint64_t first,
                                                             std::uint64_t count) mutable {
    auto const rows =
        Kokkos::subview(matrix, Kokkos::make_pair(count_t(first), count_t(first + count)), Kokkos::ALL);
    block = to_host<Scalar>(space, FactorMatrix<Scalar, Space>(rows));
    return std::span<double const>(block);
  };
  return {matrix.extent(0), matrix.extent(1), std::move(read)};
}

}  // namespace polyad::detail
