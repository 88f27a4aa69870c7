// SPDX-License-Identifier: BSD-3-Clause
// A matrix of a run in a FastTuckerSnapshot.
#pragma once

#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"
#include "tensor/read_rows.hpp"

namespace polyad::detail {

/// The matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] FastTuckerSnapshot::Matrix snapshot_matrix(Space const& space,
                                                         FactorMatrix<Scalar, Space> const& matrix) {
  return {matrix.extent(0), matrix.extent(1), reader_of_rows<Scalar>(space, matrix)};
}

}  // namespace polyad::detail
