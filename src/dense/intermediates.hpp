// SPDX-License-Identifier: BSD-3-Clause
// intermediates: C = A B for a tall matrix A (I x R) and a small one B (R x S). FasterTucker shares these
// products between nonzeros (cuFasterTucker, section 4). Other callers use it for a change of basis.
#pragma once

#include "dense/multiply_rows.hpp"

namespace polyad::detail {

/// C (I x S) = A (I x R) B (R x S). C is overwritten and may not overlap A or B. Launches on `space` and
/// returns without waiting.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar>
void intermediates(Space const& space, FactorMatrix<Scalar, Space> const& A,
                   FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C) {
  multiply_rows(space, A, B, C);
}

}  // namespace polyad::detail
