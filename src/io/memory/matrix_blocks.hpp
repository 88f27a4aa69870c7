// SPDX-License-Identifier: BSD-3-Clause
// The elements of a matrix of any execution space in blocks, for files.
#pragma once

#include "io/memory/element_blocks.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "tensor/read_rows.hpp"

namespace polyad::io {

/// The elements of a matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] ElementBlocks element_blocks(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  return {matrix.extent(0), matrix.extent(1), detail::reader_of_rows<Scalar>(space, matrix),
          sizeof(Scalar) == sizeof(float)};
}

}  // namespace polyad::io
