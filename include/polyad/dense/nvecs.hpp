// SPDX-License-Identifier: BSD-3-Clause
// nvecs: a starting guess for CP-ALS, the leading left singular vectors of every unfolding X_(n) (Kolda &
// Bader, SIAM Review 51(3), 2009, section 3.4: initialisation by HOSVD).
#pragma once

#include <cstdint>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

struct NvecsOptions {
  std::uint64_t seed = 0;     // for the random start, which also replaces vectors beyond the rank of X_(n)
  int max_iterations = 30;    // 0 or more; 0: the random start
  double tolerance   = 1e-4;  // stop when the sum of the singular values changes relatively by less
  std::vector<StoredRows> rows = {};  // if compact renumbered the tensor, its CompactTensor::rows
};

/// The leading R left singular vectors of every X_(n), as factor matrices I_n x R with orthonormal columns.
/// Columns beyond the rank of X_(n) are random numbers in [0, 1), not orthonormal. The bits differ between
/// backends, since sums are made with atomics. Sorts the nonzeros once per mode. An iteration takes about two
/// MTTKRPs, or a product with an I_n x I_n matrix for a short mode. Waits for `space`.
/// Works at every scale of the values.
/// \throws UsageError unless 1 <= R <= largest_rank, for negative iterations, for a tolerance that is
///         negative or not a number, and for a coordinate that is outside; NumericalError when a value is not
///         a finite number; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] FactorMatrices<Scalar, Space> nvecs(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& tensor, count_t rank,
                                                  NvecsOptions const& options = {});

}  // namespace polyad
