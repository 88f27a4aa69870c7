// SPDX-License-Identifier: BSD-3-Clause
// The fit of a run that has ended, measured at the nonzeros.
#pragma once

#include <new>

#include "fit/fit.hpp"
#include "fit/measure_cp.hpp"
#include "polyad/core/error.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// measure_cp_fit(), or `otherwise` if memory is missing: that fit has a bound, too, and a finished run is
/// not lost. Waits.
/// \param scale     the number by which the run has multiplied the tensor
/// \param ranks  they throw if one of them lacks the memory
template <class Scalar, class Space>
[[nodiscard]] Fit measured_fit_or(Fit const& otherwise, Space const& space,
                                  FormatInterface<Scalar, Space> const& X,
                                  StoredCp<Scalar, Space> const& model, double scale, RunRanks const& ranks) {
  try {
    return measure_cp_fit(space, X, model, scale, ranks.rank_sums());
  } catch (MemoryError const&) {
    ranks.rethrow_if_awaited();
  } catch (std::bad_alloc const&) {
    ranks.rethrow_if_awaited();
  }
  return otherwise;
}

}  // namespace polyad::detail
