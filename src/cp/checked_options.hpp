// SPDX-License-Identifier: BSD-3-Clause
// The checks of a run's options against its tensor and its start.
#pragma once

#include <algorithm>

#include "cp/constraints/constrained_start.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/run/run_updates.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/compact.hpp"

namespace polyad::detail {

/// The options, with the rank of the start. \param extents  those of the whole tensor
/// \throws UsageError as cp_als
template <class Scalar, class Space>
[[nodiscard]] CpAlsOptions checked_options(FormatInterface<Scalar, Space> const& X, CpAlsOptions options,
                                           FactorMatrices<Scalar, Space> const& start,
                                           Extents const& extents) {
  POLYAD_EXPECTS(X.extents().order() >= 2, "CP-ALS needs a tensor of at least two modes");
  expect_no_duplicates(X);
  POLYAD_EXPECTS(options.rank == 0 || start.rank() == options.rank, "the start has rank ", start.rank(),
                 ", not ", options.rank);
  expect_factors(start, X.extents());
  expect_updates(options.updates, X.extents().order());
  bool const has_bounds = std::ranges::any_of(
      options.updates, [](auto const& update) { return update.constraints().has_value(); });
  POLYAD_EXPECTS(!(options.kkt_tolerance > 0) || has_bounds, "a tolerance of ", options.kkt_tolerance,
                 " for the KKT violation is for modes with bounds or an l1 penalty, and no mode has one");
  expect_zero_allowed(options.updates, options.rows);
  expect_fixed_modes(options, X.extents().order());
  expect_stored_rows(options.rows, extents);
  options.rank = start.rank();
  return options;
}

}  // namespace polyad::detail
