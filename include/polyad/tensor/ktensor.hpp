// SPDX-License-Identifier: BSD-3-Clause
// Ktensor: a CP model of modes 0 ... N - 1, sum over r of lambda_r a^(0)_r o ... o a^(N-1)_r.
#pragma once

#include <utility>
#include <vector>

#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

/// lambda (R weights, on the host) and the factor matrices A^(n) (I_n x R). If only some rows are stored, a
/// factor has a row for each of them.
template <class Scalar, class Space>
struct Ktensor {
  std::vector<double> weights;
  FactorMatrices<Scalar, Space> factors;
  /// The rows that are stored (tensor/compact.hpp): one for each mode, or empty if all rows are stored.
  std::vector<StoredRows> rows = {};
  /// The bounds and penalties under which the factors were computed: one for each mode, or empty if there
  /// were none. project() (cp/project.hpp) computes new rows under them.
  std::vector<Constraints> constraints = {};
};

}  // namespace polyad
