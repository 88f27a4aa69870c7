// SPDX-License-Identifier: BSD-3-Clause
// Each strategy of the coordinate descent, one update of random rows against plain loops in long double.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "cp/constraints/descend.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using detail::DescentByRows;
using detail::DescentByTiles;

struct DrawnRows {
  count_t rows, rank;
  std::vector<double> H, V, A, weights;
};

/// H is well conditioned, and its last row and column are zero if there are three columns or more: that
/// component's column stays. A quarter of A is zero.
template <class Scalar>
DrawnRows draw_rows(count_t rows, count_t rank, Constraints const& c) {
  Random random(100 * rank + rows);
  DrawnRows drawn{rows, rank, {}, {}, {}, {}};
  std::vector<double> K(2 * rank * rank);
  for (double& number : K) number = random_number(random) / 2;
  for (count_t r = 0; r < rank; ++r)
    for (count_t s = 0; s < rank; ++s) {
      double sum = r == s ? 1 : 0;
      for (count_t i = 0; i < 2 * rank; ++i)
        sum += K[i * rank + r] * K[i * rank + s] / static_cast<double>(rank);
      drawn.H.push_back(rank >= 3 && std::max(r, s) == rank - 1 ? 0.0 : sum);
    }
  for (count_t e = 0; e < rows * rank; ++e) {
    drawn.V.push_back(static_cast<double>(static_cast<Scalar>(random_number(random))));
    double const start = random_below(random, 4) == 0 ? 0 : random_number(random);
    drawn.A.push_back(static_cast<double>(static_cast<Scalar>(std::clamp(start, c.lower, c.upper))));
  }
  for (count_t r = 0; r < rank; ++r) drawn.weights.push_back(std::ldexp(1, static_cast<int>(r % 5) - 2));
  return drawn;
}

/// What an update has to give.
struct ExpectedUpdate {
  std::vector<long double> A, gram;
  long double inner = 0, largest_change = 0;
};

/// The descent, with every entry rounded to Scalar before the next one.
template <class Scalar>
ExpectedUpdate expected_update(DrawnRows const& drawn, Constraints const& c, double of_tensor, int sweeps) {
  count_t const R = drawn.rank;
  ExpectedUpdate expected;
  expected.gram.assign(R * R, 0);
  for (count_t i = 0; i < drawn.rows; ++i) {
    std::vector<long double> a(R);
    for (count_t r = 0; r < R; ++r) a[r] = drawn.A[i * R + r];
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (count_t r = 0; r < R; ++r) {
        // On x = w a: l1 and ridge are those of B = a, times c^2 and divided by w and w^2.
        long double const w = drawn.weights[r], h = drawn.H[r * R + r];
        long double const square = static_cast<long double>(of_tensor) * of_tensor;
        long double const ridge = square * c.ridge / (w * w), l1 = square * c.l1 / w;
        if (h + ridge == 0 && l1 == 0) continue;
        long double left = drawn.V[i * R + r];
        for (count_t s = 0; s < R; ++s)
          if (s != r) left -= static_cast<long double>(drawn.H[r * R + s]) * drawn.weights[s] * a[s];
        long double const soft = left > l1 ? left - l1 : left < -l1 ? left + l1 : 0;
        long double next       = h + ridge == 0 ? 0 : soft / (h + ridge) / w;
        next = std::clamp(next, static_cast<long double>(c.lower), static_cast<long double>(c.upper));
        next = static_cast<long double>(static_cast<Scalar>(next));
        if (sweep == 0)
          expected.largest_change =
              std::max(expected.largest_change, std::abs(next - a[r]) * w * std::sqrt(h));
        a[r] = next;
      }
    for (count_t r = 0; r < R; ++r) {
      expected.inner += static_cast<long double>(drawn.weights[r]) * drawn.V[i * R + r] * a[r];
      for (count_t s = 0; s < R; ++s) expected.gram[r * R + s] += a[r] * a[s];
    }
    expected.A.insert(expected.A.end(), a.begin(), a.end());
  }
  return expected;
}

template <class Scalar, class Strategy>
void expect_update(count_t rows, count_t rank, Constraints const& c, int sweeps) {
  // CAPTURE divides its text at every comma, those between < and > too.
  bool const is_by_rows = std::is_same_v<Strategy, DescentByRows>;
  CAPTURE(rows, rank, c.lower, c.upper, c.l1, c.ridge, sweeps, sizeof(Scalar), is_by_rows);
  TestSpace const space;
  constexpr double of_tensor = 0.5;
  auto const drawn           = draw_rows<Scalar>(rows, rank, c);
  auto const expected        = expected_update<Scalar>(drawn, c, of_tensor, sweeps);

  detail::GramMatrix<TestSpace> const H("polyad::test", rank, rank), gram("polyad::test", rank, rank);
  auto const host = Kokkos::create_mirror_view(H);
  std::copy(drawn.H.begin(), drawn.H.end(), host.data());
  Kokkos::deep_copy(H, host);
  auto const weights = to_device(drawn.weights);
  auto const scale   = to_device(std::vector<double>(rank, 1.0));
  auto const change = to_device({0.0}), inner = to_device({-1.0});
  auto const V = make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  auto const A = make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  from_host<Scalar>(space, drawn.V, V);
  from_host<Scalar>(space, drawn.A, A);
  ModeProblem<TestSpace> const problem{H, weights, scale, of_tensor, {}, change};
  detail::ColumnNumbers<TestSpace> const columns("polyad::test", detail::column_numbers, rank);
  detail::UpdateMemory<TestSpace> const memory(space, rank);
  UpdateSums<TestSpace> const sums{gram, inner, false, &memory};
  detail::prepare_columns(space, problem, c, columns);
  detail::descend_by(Strategy(), space, problem, columns, c, sweeps, V, A, sums);
  space.fence("polyad::test");

  // Entries are below 10, and each is a sum of R products. A float that is rounded to its neighbour moves the
  // entries after it.
  auto const R           = static_cast<double>(rank);
  double const tolerance = 40 * (2 + R) * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  auto const a = to_host<Scalar>(space, A), g = flat(gram);
  double most = 0;
  for (count_t e = 0; e < a.size(); ++e)
    most = std::max(most, std::abs(a[e] - static_cast<double>(expected.A[e])));
  CHECK(most <= tolerance);
  for (count_t e = 0; e < rank * rank; ++e)
    CHECK(std::abs(g[e] - static_cast<double>(expected.gram[e])) <=
          tolerance * 10 * static_cast<double>(1 + rows));
  CHECK(std::abs(flat(inner)[0] - static_cast<double>(expected.inner)) <=
        tolerance * 10 * R * static_cast<double>(1 + rows));
  CHECK(std::abs(flat(change)[0] - static_cast<double>(expected.largest_change)) <= 10 * tolerance);
}

TEST_CASE("Descent: every strategy is that of long doubles", "[cp]") {
  Constraints const nonnegative{.lower = 0}, low{.lower = 0.25}, box{.lower = -0.5, .upper = 0.25},
      lasso{.l1 = 0.25, .ridge = 0.5}, all{.lower = -0.25, .upper = 2, .l1 = 0.125, .ridge = 0.25}, free{};
  for (count_t const rank : {1, 3, 8, 13, 16, 20, 31, 32})
    for (auto const& c : {nonnegative, low, box, lasso, all, free}) {
      expect_update<double, DescentByTiles<double>>(131, rank, c, 1);
      expect_update<double, DescentByRows>(131, rank, c, 1);
      expect_update<double, DescentByTiles<double, true>>(131, rank, c, 1);
      expect_update<float, DescentByTiles<float>>(131, rank, c, 2);
      expect_update<float, DescentByTiles<float, true>>(131, rank, c, 2);
      expect_update<float, DescentByTiles<double>>(131, rank, c, 2);
      expect_update<float, DescentByRows>(131, rank, c, 2);
    }
  for (count_t const rows : {0, 1, 2, 64, 65, 127, 128, 129, 255, 256, 257, 3000})
    for (count_t const rank : {5, 16, 32}) {
      expect_update<double, DescentByTiles<double>>(rows, rank, nonnegative, 3);
      expect_update<double, DescentByTiles<double, true>>(rows, rank, nonnegative, 3);
      expect_update<float, DescentByTiles<float>>(rows, rank, low, 1);
      expect_update<float, DescentByTiles<float, true>>(rows, rank, low, 1);
      expect_update<float, DescentByTiles<double>>(rows, rank, low, 1);
      expect_update<float, DescentByTiles<double, true>>(rows, rank, low, 1);
      expect_update<float, DescentByRows>(rows, rank, low, 1);
    }
  expect_update<double, DescentByRows>(131, 40, nonnegative, 2);
  expect_update<float, DescentByRows>(3000, 70, box, 1);
}

}  // namespace
}  // namespace polyad::test
