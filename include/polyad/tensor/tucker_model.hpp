// SPDX-License-Identifier: BSD-3-Clause
// TuckerModel: a core G (R_0 x ... x R_{N-1}) times a factor U^(n) (I_n x R_n) along each mode (Kolda &
// Bader, SIAM Review 51(3), 2009, section 4).
#pragma once

#include <vector>

#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

/// Shares its Views when copied, as Views do.
template <class Scalar, class Space>
struct TuckerModel {
  std::vector<FactorMatrix<Scalar, Space>> factors;  // U^(n)
  FactorMatrix<Scalar, Space> core;  // G unfolded: R_{N-1} x the product of the others, R_{N-2} fastest
  /// The stored rows of the factors, as in Ktensor.
  std::vector<StoredRows> rows = {};
};

}  // namespace polyad
