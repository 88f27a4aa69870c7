// SPDX-License-Identifier: BSD-3-Clause
// The checks of a run's options against its tensor and its start.
#pragma once

#include "core/run_limits.hpp"
#include "cp/constraints/constrained_start.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/run_updates.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/compact.hpp"

namespace polyad::detail {

/// The options, with the rank of the start.
/// \param on_ranks  whether X and `start` are a rank's block of the tensor
/// \throws UsageError as cp_als
template <class Scalar, class Space>
[[nodiscard]] CpAlsOptions checked_options(ErasedFormat<Scalar, Space> const& X, CpAlsOptions options,
                                           FactorMatrices<Scalar, Space> const& start, bool on_ranks) {
  expect_run_limits(options.max_iterations, options.tolerance, options.time_limit_s);
  POLYAD_EXPECTS(options.kkt_tolerance >= 0, "a KKT tolerance of ", options.kkt_tolerance,
                 ": it is at least 0");
  POLYAD_EXPECTS(X.extents().order() >= 2, "CP-ALS needs a tensor of at least two modes");
  expect_no_duplicates(X);
  POLYAD_EXPECTS(options.rank == 0 || start.rank() == options.rank, "the start has rank ", start.rank(),
                 ", not ", options.rank);
  expect_factors(start, X.extents());
  expect_updates(options.updates, X.extents().order());
  expect_zero_allowed(options.updates, options.rows);
  expect_fixed_modes(options, X.extents().order());
  if (!on_ranks) expect_stored_rows(options.rows, X.extents());  // else the lists are of the whole tensor
  options.rank = start.rank();
  return options;
}

}  // namespace polyad::detail
