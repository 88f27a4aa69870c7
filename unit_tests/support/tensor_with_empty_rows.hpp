// SPDX-License-Identifier: BSD-3-Clause
// A small tensor for tests of rows that do not occur.
#pragma once

#include <cstddef>

#include "polyad/testing/small_tensors.hpp"
#include "support/host_models.hpp"

namespace polyad::test {

/// 90 x 7 x 24 with at most 150 nonzeros: most rows of modes 0 and 2 are empty.
inline HostTensor tensor_with_empty_rows() {
  Random random(5);
  auto tensor    = distinct(random_tensor(random, {9, 7, 8}, 150));
  tensor.extents = {90, 7, 24};
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    tensor.indices[3 * p] = 10 * tensor.indices[3 * p] + 3;
    tensor.indices[3 * p + 2] *= 3;
  }
  return tensor;
}

}  // namespace polyad::test
