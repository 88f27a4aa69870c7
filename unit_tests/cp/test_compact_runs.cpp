// SPDX-License-Identifier: BSD-3-Clause
// CP-ALS of a renumbered tensor: on the rows that are stored its model is that of a run on the whole tensor
// whose other rows start from zero. Tucker is in tucker/test_tucker.cpp.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "polyad/cp/cp_als.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/tensor_with_empty_rows.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
void expect_same_model(Ktensor<Scalar, TestSpace> const& stored, Ktensor<Scalar, TestSpace> const& whole,
                       double tolerance) {
  TestSpace const space;
  REQUIRE(stored.rows.size() == 3);
  REQUIRE(whole.rows.empty());
  for (std::size_t r = 0; r < whole.weights.size(); ++r)
    CHECK(std::abs(stored.weights[r] - whole.weights[r]) <= tolerance * whole.weights[0]);
  for (int n = 0; n < 3; ++n) {
    REQUIRE(stored.factors[n].extent(0) == stored.rows[n].size());
    auto const all   = look_up_rows<Scalar, TestSpace>(space, stored.factors[n], stored.rows[n],
                                                       StoredRows(stored.rows[n].extent()));
    auto const found = flat(all), expected = flat(whole.factors[n]);
    REQUIRE(found.size() == expected.size());
    double worst = 0;
    for (std::size_t e = 0; e < found.size(); ++e) worst = std::max(worst, std::abs(found[e] - expected[e]));
    CAPTURE(n);
    CHECK(worst <= tolerance);
  }
}

template <class Scalar>
void expect_same_run(double tolerance) {
  TestSpace const space;
  auto const X     = to_device<Scalar, std::uint32_t>(space, tensor_with_empty_rows());
  auto const small = compact(space, X, {.least_rows = 0, .empty_share = 0.5});
  REQUIRE(small.rows.size() == 3);
  REQUIRE(small.rows[0].size() == 9);
  REQUIRE_FALSE(small.rows[1].is_list());
  CpAlsOptions options{.rank = 3, .max_iterations = 6, .tolerance = 0, .seed = 4};
  FactorMatrices<Scalar, TestSpace> stored(space, small.tensor.extents(), 3), start(space, X.extents(), 3);
  fill_random(space, stored, small.rows, 4);
  for (int n = 0; n < 3; ++n)  // the same numbers, and zeros
    start[n] = look_up_rows<Scalar, TestSpace>(space, stored[n], small.rows[n], StoredRows(X.extents()[n]));
  for (int const iterations : {0, 1, 6}) {
    CAPTURE(iterations, sizeof(Scalar));
    options.max_iterations = iterations;
    auto const whole       = cp_als(space, X, options, start);
    auto compact_options   = options;
    compact_options.rows   = small.rows;
    auto const found       = cp_als(space, small.tensor, compact_options);
    CHECK(std::abs(found.fit - whole.fit) <= tolerance);
    expect_same_model<Scalar>(found.model, whole.model, tolerance);
  }
}

}  // namespace

TEST_CASE("CP-ALS of the rows that occur is that of all rows", "[cp]") {
  expect_same_run<double>(1e-10);
  expect_same_run<float>(2e-4);
}

TEST_CASE("restarts and nvecs of a renumbered tensor start from its original rows", "[cp]") {
  TestSpace const space;
  auto const X     = to_device<double, std::uint64_t>(space, tensor_with_empty_rows());
  auto const small = compact(space, X, {.least_rows = 0, .empty_share = 0.5});
  CpAlsOptions options{.rank = 2, .max_iterations = 3, .tolerance = 0, .seed = 4, .rows = small.rows};
  auto const format = any_format(space, small.tensor, format_options(options));
  options.restarts  = 2;
  auto const of_all = cp_als(space, format, options);
  options.restarts  = 1;
  for (std::size_t k = 0; k < 2; ++k) {
    auto single      = options;
    single.seed      = 4 + k;
    auto const alone = cp_als(space, format, single);
    CHECK(std::abs(alone.fit - of_all.restarts[k].fit) < 1e-12);
    REQUIRE(of_all.model.rows == small.rows);
  }
  // Without iterations nvecs returns its random start.
  auto const start = nvecs(space, small.tensor, 2, {.seed = 9, .max_iterations = 0, .rows = small.rows});
  auto const first = flat(start[0]);
  for (count_t i = 0; i < start[0].extent(0); ++i)
    REQUIRE(first[2 * i + 1] == counter_uniform(9, 0, small.rows[0].number(i), 1));
}

TEST_CASE("CP-ALS refuses lists of other rows", "[cp]") {
  TestSpace const space;
  auto const X     = to_device<double, std::uint32_t>(space, tensor_with_empty_rows());
  auto const small = compact(space, X, {.least_rows = 0, .empty_share = 0.5});
  CpAlsOptions options{.rank = 2, .max_iterations = 1, .rows = small.rows};
  REQUIRE_THROWS_AS(cp_als(space, X, options), UsageError);
  options.rows.pop_back();
  REQUIRE_THROWS_AS(cp_als(space, small.tensor, options), UsageError);
}

}  // namespace polyad::test
