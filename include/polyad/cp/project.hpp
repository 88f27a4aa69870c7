// SPDX-License-Identifier: BSD-3-Clause
// project: rows of one mode of a CP model for new slices, while its other factors stay as they are. In the
// notation of factor_update.hpp: minimise 1/2 || X_(n) - A diag(lambda) K' ||^2 and the penalties of mode n
// over A, under its bounds. This takes one MTTKRP and one exact solve.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

template <class Scalar, class Space>
struct Projection {
  FactorMatrix<Scalar, Space> rows;  // A, J x R, to be used with the model's weights
  double fit       = 0;  // 1 - ||X - M|| / ||X||, by a formula whose rounding error is that of the squares
  double objective = 0;  // 1/2 ||X - M||^2 and the penalties of mode n
};

/// Rows for the J slices of X in mode `mode`. Bounds and penalties are those of model.constraints. A mode
/// without bounds and l1 is solved by least squares. A ridge without bounds counts for a column times its
/// share of the weight. All modes of this kind have shares with equal penalties, as at a minimum. Waits for
/// `space`.
/// \param X  has the model's stored rows in all modes but `mode`, and no duplicates
/// \throws UsageError when the mode, the shapes or the constraints do not match, or X has duplicates;
///         NumericalError when the norm of X or the fit is not a finite number; MemoryError before allocating
template <class Scalar, class Space>
[[nodiscard]] Projection<Scalar, Space> project(Space const& space, Ktensor<Scalar, Space> const& model,
                                                AnyFormat<Scalar, Space> const& X, int mode);

/// The same for coordinates, in the format that any_format chooses.
template <class Scalar, class Index, class Space>
[[nodiscard]] Projection<Scalar, Space> project(Space const& space, Ktensor<Scalar, Space> const& model,
                                                CooTensor<Scalar, Index, Space> const& X, int mode) {
  AnyFormatOptions options;
  options.rank       = model.factors.rank();
  options.iterations = 1;
  return project(space, model, any_format(space, X, options), mode);
}

}  // namespace polyad
