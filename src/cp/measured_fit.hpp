// SPDX-License-Identifier: BSD-3-Clause
// The fit of a run that has ended, measured at the nonzeros.
#pragma once

#include <new>

#include "fit/fit.hpp"
#include "fit/measure_cp.hpp"
#include "polyad/core/error.hpp"

namespace polyad::detail {

/// measure_cp_fit(), or `otherwise` if memory is missing: that fit has its bound, and a run that has ended is
/// not lost. Waits.
/// \param scale     the number by which the run has multiplied the tensor
/// \param on_ranks  whether other ranks wait for this one: then a failure is thrown
template <class Scalar, class Space>
[[nodiscard]] Fit measured_fit_or(Fit const& otherwise, Space const& space,
                                  ErasedFormat<Scalar, Space> const& X, StoredCp<Scalar, Space> const& model,
                                  double scale, RankSums const& sums, bool on_ranks) {
  try {
    return measure_cp_fit(space, X, model, scale, sums);
  } catch (MemoryError const&) {
    if (on_ranks) throw;
  } catch (std::bad_alloc const&) {
    if (on_ranks) throw;
  }
  return otherwise;
}

}  // namespace polyad::detail
