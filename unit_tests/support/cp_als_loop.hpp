// SPDX-License-Identifier: BSD-3-Clause
// A run of CP-ALS, an iteration at a time, for tests that look at its state.
#pragma once

#include <memory>

#include "cp/run/cp_als_run.hpp"
#include "polyad/io/checkpoint.hpp"
#include "run/run_loop.hpp"
#include "run/run_options.hpp"
#include "support/device_data.hpp"
#include "tensor/copied.hpp"

namespace polyad::test {

template <class Scalar>
using CpAlsLoop = detail::RunLoop<detail::CpAlsBody<Scalar, TestSpace>>;

/// `start` is copied.
template <class Scalar>
std::unique_ptr<CpAlsLoop<Scalar>> cp_als_loop(TensorByRank<Scalar, TestSpace> const& X,
                                               CpAlsOptions const& options,
                                               FactorMatrices<Scalar, TestSpace> const& start) {
  TestSpace const space;
  detail::HeldTensor<Scalar, TestSpace> const held(X);
  return std::make_unique<CpAlsLoop<Scalar>>(detail::run_options_of(options), X.rows(), space, held, options,
                                             detail::copied(space, start));
}
template <class Scalar>
std::unique_ptr<CpAlsLoop<Scalar>> cp_als_loop(AnyFormat<Scalar, TestSpace> const& X,
                                               CpAlsOptions const& options,
                                               FactorMatrices<Scalar, TestSpace> const& start) {
  return cp_als_loop(TensorByRank<Scalar, TestSpace>(TestSpace(), X), options, start);
}

/// The checkpoint that the run would write now, its factors included. All ranks call it.
template <class Scalar>
io::Checkpoint whole_state(CpAlsLoop<Scalar>& run) {
  auto state = run.driver().state();
  for (std::size_t n = 0; n < state.extents.size(); ++n)
    state.factors.push_back(run.driver().factor_rows(static_cast<int>(n), 0, state.extents[n]));
  return state;
}

}  // namespace polyad::test
