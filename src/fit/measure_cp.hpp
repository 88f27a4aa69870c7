// SPDX-License-Identifier: BSD-3-Clause
// measure_cp_fit: the fit of a CP model as it is stored, from sums over the nonzeros (fit/fit.hpp).
#pragma once

#include <vector>

#include "fit/fit.hpp"
#include "fit/rank_sums.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/held_format.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// A CP model, or the rows of one that a rank has.
template <class Scalar, class Space>
struct StoredCp {
  FactorMatrices<Scalar, Space> factors;           // with a row for each index of this rank's nonzeros
  std::vector<FactorMatrix<Scalar, Space>> owned;  // rows that no other rank owns, for all modes
  std::vector<double> weights;                     // R
};

/// The fit of the model to X times `scale`, a power of two. If doubles do not give the promised digits,
/// everything is computed again in DoubleDouble. Waits for `space`. All ranks call it, and get the same fit.
/// \throws NumericalError as fit_of; MemoryError; UsageError if X is not readable
template <class Scalar, class Space>
[[nodiscard]] Fit measure_cp_fit(Space const& space, FormatInterface<Scalar, Space> const& X,
                                 StoredCp<Scalar, Space> const& model, double scale, RankSums const& ranks);

#define POLYAD_MEASURE_CP_FIT(Scalar)                                                              \
  template Fit measure_cp_fit(CompiledSpace const&, FormatInterface<Scalar, CompiledSpace> const&, \
                              StoredCp<Scalar, CompiledSpace> const&, double, RankSums const&)
POLYAD_EACH_SCALAR(extern, POLYAD_MEASURE_CP_FIT);

}  // namespace polyad::detail
