// SPDX-License-Identifier: BSD-3-Clause
// A tensor with rows of several chunks of least squares (formats/format.hpp).
#pragma once

#include "polyad/testing/small_tensors.hpp"

namespace polyad::test {

/// 5 x 40 x 900, 12,000 nonzeros. Row 2 of mode 0 has more than 8,000 and row 39 of mode 1 more than 6,000.
inline HostTensor tensor_with_long_rows() {
  Random random(11);
  auto X = random_tensor(random, {5, 40, 900}, 12000);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    if (p % 3 != 0) X.indices[p * 3] = 2;
    if (p % 2 != 0) X.indices[p * 3 + 1] = 39;
  }
  return X;
}

}  // namespace polyad::test
