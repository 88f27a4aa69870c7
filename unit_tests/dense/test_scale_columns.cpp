// SPDX-License-Identifier: BSD-3-Clause
// scale_columns: powers of two alone, near the norm that is asked for, and a Gram matrix that goes with it.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "dense/scale_columns.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
struct Scaled {
  std::vector<double> A;
  std::vector<double> G;
  std::vector<double> weights;
  std::vector<double> scales;
  std::vector<double> factors;
};

template <class Scalar>
Scaled<Scalar> scale(HostMatrix const& A, double norm, std::vector<double> const& weights,
                     double gram_of_first = 0, double slack = 1) {
  TestSpace const space;
  std::size_t const rank = A.columns;
  auto const exact       = oracle_product_of_transposed(A, A);
  WatchedMatrix<Scalar> const matrix(space, RowLayout::padded, A, std::nan(""));
  GramMatrix<TestSpace> const G("G", rank, rank);
  auto const host = Kokkos::create_mirror_view(G);
  for (std::size_t e = 0; e < rank * rank; ++e)
    host(e / rank, e % rank) = static_cast<double>(exact.value[e]);
  if (gram_of_first != 0) host(0, 0) = gram_of_first;
  Kokkos::deep_copy(G, host);
  auto const device_weights = to_device(weights);
  auto const scales         = to_device(std::vector<double>(rank, 5.0));
  auto const factors        = to_device(std::vector<double>(rank + 3));
  scale_columns(space, matrix.matrix(), G, {norm, slack}, device_weights, scales, factors);
  space.fence("polyad::test");
  CHECK(matrix.trespasses() == 0);
  return {matrix.read(), flat(G), flat(device_weights), flat(scales), flat(factors)};
}

template <class Scalar>
void expect_scaled(std::size_t rows, std::size_t rank) {
  CAPTURE(rows, rank, sizeof(Scalar));
  Random random(rows + rank);
  auto A = random_matrix(random, rows, rank);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t r = 0; r < rank; ++r) {
      A(i, r) = static_cast<Scalar>(std::ldexp(A(i, r), static_cast<int>(r * 37 % 120) - 60));
      if (r == 2) A(i, r) = 0;
    }
  auto const G       = oracle_product_of_transposed(A, A);
  auto const outcome = scale<Scalar>(A, 8, std::vector<double>(rank, 3.0));
  for (std::size_t r = 0; r < rank; ++r) {
    double const factor = outcome.factors[r];
    CAPTURE(r, factor);
    int exponent = 0;
    CHECK(std::frexp(factor, &exponent) == 0.5);
    CHECK(outcome.weights[r] == 3 / factor);
    CHECK(outcome.scales[r] == 5 / factor);
    double const norm = factor * std::sqrt(static_cast<double>(G.value[r * (rank + 1)]));
    if (r == 2)
      CHECK(factor == 1);
    else
      CHECK((norm >= 8 * (1 - 1e-15) && norm < 16));
    for (std::size_t i = 0; i < rows; ++i) CHECK(outcome.A[i * rank + r] == A(i, r) * factor);
    for (std::size_t s = 0; s < rank; ++s)
      CHECK(outcome.G[r * rank + s] ==
            static_cast<double>(G.value[r * rank + s]) * factor * outcome.factors[s]);
  }
}

TEST_CASE("scale_columns: powers of two bring norms near the one that is asked for", "[dense]") {
  for (std::size_t const rows : {1, 7, 65, 300})
    for (std::size_t const rank : {3, 4, 17, 40}) {
      expect_scaled<double>(rows, rank);
      expect_scaled<float>(rows, rank);
    }
}

TEST_CASE("scale_columns: with slack, columns whose norms are near enough stay", "[dense]") {
  HostMatrix A(1, 7);
  A.data = {1, 1.5, 2, 8, 31, 32, 64};
  // The target is 8, and 2 to 32 are within a factor of 4.
  auto const outcome = scale<double>(A, 8, std::vector<double>(7, 3.0), 0, 4);
  CHECK(outcome.factors[0] == 8);
  CHECK(outcome.factors[1] == 8);
  for (std::size_t r : {2, 3, 4, 5}) CHECK(outcome.factors[r] == 1);
  CHECK(outcome.factors[6] == 0.125);
  CHECK(outcome.A == std::vector<double>{8, 12, 2, 8, 31, 32, 8});
}

TEST_CASE("scale_columns: a norm that is not finite leaves the scale", "[dense]") {
  Random random(3);
  auto const A = random_matrix(random, 9, 3);
  for (double const bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    auto const outcome = scale<double>(A, 4, {1, 1, 1}, bad);
    CHECK(outcome.factors[0] == 1);
    CHECK(outcome.weights[0] == 1);
    for (std::size_t i = 0; i < 9; ++i) CHECK(outcome.A[i * 3] == A(i, 0));
  }
}

TEST_CASE("scale_columns: a column whose weight would underflow becomes zero", "[dense]") {
  HostMatrix A(2, 3);
  A.data = {0x1p-600, 1, 0x1p-500, 0x1p-600, 2, 0};
  // The factor of column 0 would be 2^509, and its weight 2^-1029.
  auto const outcome = scale<double>(A, 1, {0x1p-520, 1, 0x1p-500}, 0x1p-1018);
  CHECK(outcome.factors == std::vector<double>{0, 0.5, 0x1p500, 0, 0, 0});
  CHECK(outcome.weights == std::vector<double>{0x1p-520, 2, 0x1p-1000});
  CHECK(outcome.A == std::vector<double>{0, 0.5, 1, 0, 1, 0});
  for (std::size_t const e : {0, 1, 2, 3, 6}) CHECK(outcome.G[e] == 0);
  CHECK(outcome.G[8] == 1);
}

TEST_CASE("scale_columns: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  auto const A = make_factor_matrix<double>(space, "polyad::test", 5, 3);
  GramMatrix<TestSpace> const G("G", 3, 3), wide("G", 3, 4);
  auto const three = to_device(std::vector<double>(3)), two = to_device(std::vector<double>(2));
  CHECK_NOTHROW(scale_columns(space, A, G, {1}, three, three, three));
  CHECK_THROWS_AS(scale_columns(space, A, wide, {1}, three, three, three), UsageError);
  CHECK_THROWS_AS(scale_columns(space, A, G, {1}, two, three, three), UsageError);
  CHECK_THROWS_AS(scale_columns(space, A, G, {1}, three, two, three), UsageError);
  CHECK_THROWS_AS(scale_columns(space, A, G, {1}, three, three, two), UsageError);
  space.fence("polyad::test");
}

}  // namespace
}  // namespace polyad::test
