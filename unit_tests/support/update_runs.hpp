// SPDX-License-Identifier: BSD-3-Clause
// Short runs of CP-ALS with updates of all kinds, and what their references share.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

using UpdateList = std::vector<ModeUpdate>;

inline CpAlsOptions updated_by(UpdateList updates, count_t rank, int iterations) {
  return {
      .rank = rank, .max_iterations = iterations, .tolerance = 0, .seed = 6, .updates = std::move(updates)};
}

template <class Scalar>
auto summed_in_fixed_order(HostTensor const& tensor) {
  TestSpace const space;
  return any_format(space,
                    Sorted<Scalar, std::uint32_t, TestSpace>::build(
                        space, to_device<Scalar, std::uint32_t>(space, tensor), {.deterministic = true}));
}

template <class Scalar>
CpAlsResult<Scalar, TestSpace> run_with(HostTensor const& tensor, CpAlsOptions const& options) {
  return cp_als(TestSpace(), summed_in_fixed_order<Scalar>(tensor), options);
}

/// All cells of a model of rank 4 with some noise, times `scale`.
inline HostTensor noisy_tensor(std::vector<std::uint64_t> const& extents, double scale = 1) {
  Random random(extents.size());
  auto tensor = all_cells(OracleModel(random_factors(random, extents, 4), std::vector<long double>(4, 1.0L)));
  for (double& value : tensor.values) value = scale * (value + random_number(random) / 4);
  return tensor;
}

/// The random start of updated_by, as a model without weights.
template <class Scalar>
OracleModel start_of(std::vector<std::uint64_t> const& extents, std::size_t rank) {
  TestSpace const space;
  FactorMatrices<Scalar, TestSpace> const factors(space, Extents(std::span<count_t const>(extents)), rank);
  fill_random(space, factors, 6);
  space.fence("polyad::test");
  return on_host(Ktensor<Scalar, TestSpace>{std::vector<double>(rank, 1.0), factors});
}

/// V and H of a mode, of the matrices B.
struct OracleProblem {
  std::vector<long double> V;
  OracleSquare H;
};

inline OracleProblem oracle_problem(HostTensor const& X, OracleModel const& M, std::size_t mode) {
  std::size_t const rank = M.rank;
  OracleProblem problem{std::vector<long double>(X.extents[mode] * rank), OracleSquare(rank)};
  for (std::size_t e = 0; e < rank * rank; ++e) {
    problem.H.data[e] = 1;
    for (std::size_t n = 0; n < X.order(); ++n) {
      long double sum = 0;
      for (std::size_t k = 0; k < X.extents[n]; ++k)
        sum += M.factors[n][k * rank + e / rank] * M.factors[n][k * rank + e % rank];
      if (n != mode) problem.H.data[e] *= sum;
    }
  }
  for (std::size_t p = 0; p < X.nnz(); ++p)
    for (std::size_t r = 0; r < rank; ++r) {
      long double term = X.values[p];
      for (std::size_t n = 0; n < X.order(); ++n)
        if (n != mode) term *= M.factors[n][X.index(p, n) * rank + r];
      problem.V[X.index(p, mode) * rank + r] += term;
    }
  return problem;
}

/// The largest difference of two models over all cells, relative to the tensor's largest value.
inline double difference_of_cells(HostTensor const& X, OracleModel const& a, OracleModel const& b) {
  long double most = 0, largest = 0;
  for (double const value : X.values) largest = std::max(largest, std::abs(static_cast<long double>(value)));
  for_each_cell(X.extents, [&](auto const& cell, std::size_t) {
    most = std::max(most, std::abs(a.at(cell) - b.at(cell)));
  });
  return static_cast<double>(most / largest);
}

/// Rounding errors of a few iterations on a well-conditioned problem of a thousand cells: thousands of units.
template <class Scalar>
constexpr double update_rounding = sizeof(Scalar) == 4 ? 3e-4 : 1e-11;

}  // namespace polyad::test
