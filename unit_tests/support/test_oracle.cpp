// SPDX-License-Identifier: BSD-3-Clause
// The oracle and the bounds against numbers worked out by hand.
#include <cmath>
#include <limits>
#include <vector>

#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

HostMatrix matrix(std::size_t rows, std::size_t columns, std::vector<double> data) {
  HostMatrix result(rows, columns);
  result.data = std::move(data);
  return result;
}

using Numbers = std::vector<long double>;
using Counts  = std::vector<std::size_t>;

// X(0,0,0) = 1, X(0,1,1) = -2, X(1,1,0) = 3 + 4
HostTensor hand_tensor() {
  return {"by hand", {2, 2, 2}, {0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0}, {1, -2, 3, 4}};
}
HostFactors hand_factors() {
  return {matrix(2, 2, {1, 2, 3, 4}), matrix(2, 2, {5, 6, 7, 8}), matrix(2, 2, {9, 10, 11, 12})};
}

TEST_CASE("the oracle's MTTKRP equals one worked out by hand", "[oracle]") {
  auto const V0 = oracle_mttkrp(hand_tensor(), hand_factors(), 0);
  CHECK(V0.value == Numbers{45 - 154, 60 - 192, 441, 560});
  CHECK(V0.magnitude == Numbers{199, 252, 441, 560});
  CHECK(V0.terms == Counts{2, 2});
  auto const V1 = oracle_mttkrp(hand_tensor(), hand_factors(), 1);
  CHECK(V1.value == Numbers{9, 20, -22 + 189, -48 + 280});
  CHECK(V1.magnitude == Numbers{9, 20, 211, 328});
  CHECK(V1.terms == Counts{1, 3});
  auto const V2 = oracle_mttkrp(hand_tensor(), hand_factors(), 2);
  CHECK(V2.value == Numbers{5 + 147, 12 + 224, -14, -32});
  CHECK(V2.magnitude == Numbers{152, 236, 14, 32});
  CHECK(V2.terms == Counts{3, 1});
}

TEST_CASE("the oracle's SpTTM equals one worked out by hand", "[oracle]") {
  // Mode 2: the fibers (0, 0), (0, 1), (1, 1), the last of two equal cells.
  auto const Y = oracle_spttm(hand_tensor(), hand_factors()[2], 2);
  CHECK(Y.coordinates == std::vector<std::vector<std::uint64_t>>{{0, 0}, {0, 1}, {1, 1}});
  CHECK(Y.rows.value == Numbers{9, 10, -22, -24, 63, 70});
  CHECK(Y.rows.magnitude == Numbers{9, 10, 22, 24, 63, 70});
  CHECK(Y.rows.terms == Counts{1, 1, 2});
  // Mode 1: the fibers (0, 0), (0, 1), (1, 0).
  CHECK(oracle_spttm(hand_tensor(), hand_factors()[1], 1).rows.value == Numbers{5, 6, -14, -16, 49, 56});
}

TEST_CASE("the oracle's SpTTMc equals one worked out by hand", "[oracle]") {
  auto U = hand_factors();
  U[1]   = matrix(2, 1, {5, 7});
  // Row 0: (5) x (9, 10) - 2 (7) x (11, 12). Row 1: 7 (7) x (9, 10).
  auto const Y0 = oracle_spttmc(hand_tensor(), U, 0);
  CHECK(Y0.columns == 2);
  CHECK(Y0.value == Numbers{45 - 154, 50 - 168, 441, 490});
  CHECK(Y0.magnitude == Numbers{199, 218, 441, 490});
  CHECK(Y0.terms == Counts{2, 2});
  // Mode 1: columns (r0, r2), r2 fastest. Row 0: (1, 2) x (9, 10).
  auto const Y1 = oracle_spttmc(hand_tensor(), U, 1);
  CHECK(Y1.value == Numbers{9, 10, 18, 20, -22 + 189, -24 + 210, -44 + 252, -48 + 280});
}

TEST_CASE("the oracle's matrix products equal ones worked out by hand", "[oracle]") {
  auto const A = matrix(2, 2, {1, 2, 3, -4});
  CHECK(oracle_product_of_transposed(A, A).value == Numbers{10, -10, -10, 20});
  CHECK(oracle_product_of_transposed(A, A).magnitude == Numbers{10, 14, 14, 20});
  CHECK(oracle_product_of_transposed(A, A).terms == Counts{2, 2});
  auto const B = matrix(2, 1, {5, 7});
  CHECK(oracle_product(A, B).value == Numbers{19, -13});
  CHECK(oracle_product(A, B).magnitude == Numbers{19, 43});
  CHECK(oracle_product_of_transposed(A, B).value == Numbers{26, -18});
}

TEST_CASE("the oracle inverts a matrix that needs a row exchange, and refuses a singular one", "[oracle]") {
  OracleSquare H(2);
  H.data       = {0, 2, 4, 6};  // the inverse is [-3/4 1/4; 1/2 0]
  auto const X = oracle_inverse(H);
  CHECK(X.data == Numbers{-0.75L, 0.25L, 0.5L, 0});
  H.data = {1, 2, 2, 4};
  CHECK_THROWS_AS(oracle_inverse(H), std::domain_error);
}

TEST_CASE("the oracle's fit and update equal ones worked out by hand", "[oracle]") {
  // X = [3 0; 0 4], its first entry in two parts; ||X|| = 5.
  HostTensor const X{"diagonal", {2, 2}, {0, 0, 1, 1, 0, 0}, {1, 4, 2}};
  OracleModel M({matrix(2, 1, {1, 0}), matrix(2, 1, {1, 0})}, {3});
  CHECK(M.at({0, 0}) == 3);
  CHECK(M.at({1, 0}) == 0);
  CHECK(std::abs(oracle_fit(X, M) - 0.2L) < 1e-18L);
  M.weights = {0};
  CHECK(oracle_fit(X, M) == 0);

  M = OracleModel({matrix(2, 1, {9, 9}), matrix(2, 1, {1, 1})}, {1});
  oracle_update(X, M, 0);  // V = (3, 4), H = 2
  CHECK(M.factors[0] == Numbers{1.5L, 2});
  oracle_normalize(M, 0);
  CHECK(M.weights == Numbers{2.5L});
  CHECK(M.factors[0] == Numbers{1.5L / 2.5L, 2 / 2.5L});

  M = OracleModel({matrix(2, 2, {9, 9, 9, 9}), matrix(2, 2, {1, 0, 0, 2})}, {1, 1});
  oracle_update(X, M, 0);  // V = [3 0; 0 8], H = diag(1, 4): the model is X
  CHECK(M.factors[0] == Numbers{3, 0, 0, 2});
  CHECK(oracle_fit(X, M) == 1);
}

TEST_CASE("a violation is what leaves the bound, and NaN", "[oracle]") {
  CHECK(gamma<float>(2) == 0x1p-23L / (1 - 0x1p-23L));
  CHECK(gamma<double>(0) == 0);
  CHECK(roundings(0, 3) == 0);
  CHECK(roundings(1, 1) == 0);
  CHECK(roundings(5, 3) == 6);

  OracleSums expected(1, 1);
  expected.value     = {1};
  expected.magnitude = {8};
  expected.terms     = {4};  // 3 additions and 2 multiplications of magnitude 8: 40 u, 20 eps
  double const eps   = std::numeric_limits<double>::epsilon();
  CHECK(violation<double>(expected, {1.0}, 3).empty());
  CHECK(violation<double>(expected, {1 + 20 * eps}, 3).empty());
  CHECK_FALSE(violation<double>(expected, {1 + 21 * eps}, 3).empty());
  CHECK_FALSE(violation<double>(expected, {1 - 21 * eps}, 3).empty());
  CHECK_FALSE(violation<double>(expected, {std::nan("")}, 3).empty());
  CHECK_FALSE(violation<double>(expected, {}, 3).empty());
  CHECK(violation<float>(expected, {1 + 20.0 * std::numeric_limits<float>::epsilon()}, 3).empty());
  // Summed in double, stored in float: half a float's epsilon, and no more.
  double const eps_f = std::numeric_limits<float>::epsilon();
  CHECK((violation<float, double>(expected, {1 + 0.5 * eps_f}, 3).empty()));
  CHECK_FALSE((violation<float, double>(expected, {1 + 0.6 * eps_f}, 3).empty()));
  // Rows without terms are exactly zero.
  OracleSums const nothing(1, 1);
  CHECK(violation<float>(nothing, {0}, 3).empty());
  CHECK_FALSE(violation<float>(nothing, {1e-30}, 3).empty());
}

TEST_CASE("the small tensors are what their names say", "[oracle]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : all_kinds) {
      HostTensor const X = small_tensor(kind, order);
      CAPTURE(X.name);
      REQUIRE(X.order() == order);
      REQUIRE(X.indices.size() == X.nnz() * order);
      bool inside = true;
      for (std::size_t p = 0; p < X.nnz(); ++p)
        for (std::size_t n = 0; n < order; ++n) inside = inside && X.index(p, n) < X.extents[n];
      REQUIRE(inside);
    }
  // In mode 0 the rows of the runs end where the name says.
  HostTensor const runs = small_tensor(Kind::runs_at_borders, 3);
  std::vector<std::size_t> ends;
  for (std::size_t p = 1; p < runs.nnz(); ++p)
    if (runs.index(p, 0) != runs.index(p - 1, 0)) ends.push_back(p);
  CHECK(ends == Counts{127, 128, 256, 385, 386, 388, 391, 395, 400, 528, 655});
  CHECK(runs.nnz() == 784);
}

}  // namespace
}  // namespace polyad::test
