// SPDX-License-Identifier: BSD-3-Clause
// MTTKRPs of small integers: every sum is exact, in any order, so the bound is zero and a single lost or
// doubled nonzero shows.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <limits>

#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

/// The oracle's MTTKRP with a bound of zero. Fails when a sum may need more bits than a Scalar has.
template <class Scalar>
OracleSums exact_mttkrp(HostTensor const& tensor, HostFactors const& factors, std::size_t mode) {
  auto expected           = oracle_mttkrp(tensor, factors, mode);
  long double const limit = std::ldexp(1.0L, std::numeric_limits<Scalar>::digits);
  for (auto& magnitude : expected.magnitude) {
    if (magnitude >= limit) FAIL("the sums are not exact");
    magnitude = 0;
  }
  return expected;
}

/// All modes of a tensor of small integers against the oracle: exactly, over NaN, and nothing around it.
template <class F>
void expect_exact(TestSpace const& space, F const& X, typename F::workspace_type& workspace,
                  HostTensor const& tensor, std::size_t rank, RowLayout layout) {
  using Scalar = typename F::scalar_type;
  Random random(rank + tensor.nnz());
  auto const host_factors = random_factors(random, tensor.extents, rank, random_integer);
  auto const factors      = to_device<Scalar>(space, host_factors, layout);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    auto const expected = exact_mttkrp<Scalar>(tensor, host_factors, mode);
    WatchedMatrix<Scalar> const V(space, layout, tensor.extents[mode], rank);
    mttkrp(space, X, factors, static_cast<int>(mode), workspace, V.matrix());
    CAPTURE(F::name, tensor.name, tensor.nnz(), mode, rank, static_cast<int>(layout));
    CAPTURE(sizeof(Scalar), X.storage_bytes());
    CHECK(violation<Scalar>(expected, V.read(), tensor.order()) == "");
    CHECK(V.trespasses() == 0);
  }
}

/// The same with a workspace of its own.
template <class F>
void expect_exact(F const& X, HostTensor const& tensor, std::size_t rank,
                  RowLayout layout = RowLayout::padded) {
  TestSpace const space;
  auto workspace = X.make_workspace(space, rank);
  expect_exact(space, X, workspace, tensor, rank, layout);
}

/// R and a layout, from a number: R goes through the kinds of blocks: cut off, whole, two launches.
inline std::size_t some_rank(std::size_t number) {
  constexpr std::array<std::size_t, 7> ranks{1, 5, 8, 16, 33, 3, 64};
  return ranks[number % ranks.size()];
}
inline RowLayout some_layout(std::size_t number) {
  return kernel_layout<TestSpace>(number / 2);
}

}  // namespace polyad::test
