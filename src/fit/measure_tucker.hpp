// SPDX-License-Identifier: BSD-3-Clause
// measure_tucker_fit: the fit of a Tucker model as it is stored, from sums over the nonzeros (fit/fit.hpp).
#pragma once

#include <vector>

#include "fit/fit.hpp"
#include "fit/rank_sums.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/held_format.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
struct StoredTucker {
  using Matrix = FactorMatrix<Scalar, Space>;
  std::vector<Matrix> factors;  // with a row for each index of this rank's nonzeros
  std::vector<Matrix> owned;    // rows that no other rank owns, for all modes
  Matrix core;                  // R_{N-1} x the product of the other ranks (tensor/tucker_model.hpp)
};

/// Bytes that the fit needs for a core of `size` elements.
inline count_t bytes_to_measure_tucker(count_t size) {
  return 4 * size * sizeof(DoubleDouble);
}

/// As measure_cp_fit (fit/measure_cp.hpp). The columns of the factors need not be orthonormal.
template <class Scalar, class Space>
[[nodiscard]] Fit measure_tucker_fit(Space const& space, FormatInterface<Scalar, Space> const& X,
                                     StoredTucker<Scalar, Space> const& model, double scale,
                                     RankSums const& ranks);

#define POLYAD_MEASURE_TUCKER_FIT(Scalar)                                                              \
  template Fit measure_tucker_fit(CompiledSpace const&, FormatInterface<Scalar, CompiledSpace> const&, \
                                  StoredTucker<Scalar, CompiledSpace> const&, double, RankSums const&)
POLYAD_EACH_SCALAR(extern, POLYAD_MEASURE_TUCKER_FIT);

}  // namespace polyad::detail
