// SPDX-License-Identifier: BSD-3-Clause
// Least squares from the factor that is there, where H is singular or nearly so: against the objective of
// each row in long double.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cp/correct_rows.hpp"
#include "dense/update/normal_equations.hpp"
#include "dense/update/solve_rows.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/exact_rows.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

using namespace detail;

/// Rows y = x K' of an exact fit, where the last column of K nearly depends on the first.
struct NearlySingular {
  OracleSquare H;
  std::vector<double> v, x;  // rows x R, in the precision of the run
};

template <class Scalar>
NearlySingular nearly_singular_rows(count_t rows, count_t rank, double distance) {
  Random random(rank);
  std::size_t const inner = 3 * rank;
  std::vector<double> K(inner * rank);
  for (double& number : K) number = random_number(random);
  for (std::size_t p = 0; p < inner; ++p)
    K[p * rank + rank - 1] = K[p * rank] + distance * K[p * rank + rank - 1];
  NearlySingular found{OracleSquare(rank), {}, {}};
  for (std::size_t r = 0; r < rank; ++r)
    for (std::size_t s = 0; s < rank; ++s) {
      long double sum = 0;
      for (std::size_t p = 0; p < inner; ++p)
        sum += static_cast<long double>(K[p * rank + r]) * K[p * rank + s];
      found.H(r, s) = static_cast<double>(sum);
    }
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<long double> row(rank);
    for (long double& entry : row) entry = static_cast<Scalar>(random_number(random));
    for (std::size_t r = 0; r < rank; ++r) {
      long double sum = 0;
      for (std::size_t s = 0; s < rank; ++s) sum += row[s] * found.H(s, r);
      found.v.push_back(static_cast<double>(static_cast<Scalar>(sum)));
      found.x.push_back(static_cast<double>(row[r]));
    }
  }
  return found;
}

/// The largest rise of a row's objective, in units of the rounding errors of its terms.
template <class Scalar>
long double largest_rise(NearlySingular const& problem, double ridge, std::vector<double> const& before,
                         std::vector<double> const& after) {
  std::size_t const rank = problem.H.size;
  long double most       = -std::numeric_limits<long double>::infinity();
  for (std::size_t i = 0; i < before.size(); i += rank) {
    std::vector<long double> v(rank), old(rank), now(rank);
    long double size = 0, at_v = 0;
    for (std::size_t r = 0; r < rank; ++r) {
      v[r]   = problem.v[i + r];
      old[r] = before[i + r];
      now[r] = after[i + r];
      size += std::sqrt(problem.H(r, r) + ridge) * std::max(std::abs(old[r]), std::abs(now[r]));
      at_v += std::abs(v[r]) * std::max(std::abs(old[r]), std::abs(now[r]));
    }
    Constraints const c{.ridge = ridge};
    long double const rise =
        row_objective(problem.H, v.data(), c, now) - row_objective(problem.H, v.data(), c, old);
    long double const unit = std::numeric_limits<double>::epsilon() / 2;
    most = std::max(most, rise / (unit * static_cast<long double>(rank + 16) * (size * size + at_v)));
  }
  return most;
}

/// Steps from the factor raise no row's objective. \param is_lost  whether the product with the inverse does
template <class Scalar>
void expect_no_rise(count_t rank, double distance, double ridge, double start_error, bool is_lost) {
  CAPTURE(rank, distance, ridge, start_error, sizeof(Scalar));
  TestSpace const space;
  count_t const rows = 70;  // more than a team has
  auto const wanted  = nearly_singular_rows<Scalar>(rows, rank, distance);
  Random random(rank + 1);
  std::vector<double> weights(rank), before(rank), start = wanted.x, numbers(rows * rank);
  for (std::size_t r = 0; r < rank; ++r) {
    weights[r] = std::ldexp(1.0, static_cast<int>(r % 5) - 2);
    before[r]  = std::ldexp(1.0, 3 - static_cast<int>(r % 7));
  }
  for (std::size_t e = 0; e < start.size(); ++e) {
    start[e]   = static_cast<double>(static_cast<Scalar>(start[e] + start_error * random_number(random)));
    numbers[e] = start[e] / before[e % rank];
  }
  GramMatrix<TestSpace> const H("H", rank, rank);
  auto const host = Kokkos::create_mirror_view(H);
  for (std::size_t r = 0; r < rank; ++r)
    for (std::size_t s = 0; s < rank; ++s) host(r, s) = static_cast<double>(wanted.H(r, s));
  Kokkos::deep_copy(H, host);
  auto const counter = to_device({0.0, 0.0});
  auto const ones    = std::vector<double>(rank, 1.0);
  ModeProblem<TestSpace> problem;
  problem.H              = H;
  problem.weights        = to_device(weights);
  problem.scale          = to_device(weights);  // B is diag(w) A
  problem.weights_before = to_device(before);
  auto const make    = [&](count_t count) { return make_factor_matrix<Scalar>(space, "test", count, rank); };
  auto const inverse = make(rank), V = make(rows), A = make(rows), product = make(rows);
  from_host<Scalar>(space, wanted.v, V);
  from_host<Scalar>(space, numbers, A);
  normal_equations(space, ScaledHadamard<TestSpace>{H, problem.weights, problem.scale, 1, ridge},
                   to_device(std::vector<double>(normal_equations_scratch(rank))), counter, inverse);
  solve_rows(space, V, inverse, product);
  correct_rows(space, problem, ridge, inverse, V, A);
  space.fence("polyad::test");
  auto by_product = to_host<Scalar>(space, product), corrected = to_host<Scalar>(space, A);
  for (std::size_t e = 0; e < corrected.size(); ++e) {
    by_product[e] *= weights[e % rank];
    corrected[e] *= weights[e % rank];
  }
  CHECK(largest_rise<Scalar>(wanted, ridge, start, corrected) <= 1);
  if (ridge > 0) return;
  auto const counts = flat(counter);
  CHECK(counts[0] + counts[1] > 0);
  if (is_lost) CHECK(largest_rise<Scalar>(wanted, ridge, start, by_product) > 10);
}

TEST_CASE("correct_rows: no row's objective rises where H is singular or nearly so", "[cp]") {
  for (count_t const rank : {2, 3, 9, 33, 70})
    for (double const start_error : {0.0, 1e-6, 1.0, 1e6}) {
      bool const is_exact = start_error == 0;
      for (double const distance : {1e-5, 1e-6, 0.0}) {
        expect_no_rise<double>(rank, distance, 0, start_error, is_exact && distance > 0);
        expect_no_rise<double>(rank, distance, 0.125, start_error, false);
      }
      for (double const distance : {2e-2, 1e-4, 0.0}) {
        expect_no_rise<float>(rank, distance, 0, start_error, is_exact && distance == 2e-2);
        expect_no_rise<float>(rank, distance, 0.125, start_error, false);
      }
    }
}

}  // namespace
}  // namespace polyad::test
