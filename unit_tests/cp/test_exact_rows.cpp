// SPDX-License-Identifier: BSD-3-Clause
// Rows that are solved exactly, against every set of active bounds in long double.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "cp/constraints/constrained_update.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/exact_rows.hpp"
#include "support/host_models.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

/// One exact update of a mode of a model without weights. Returns the largest violation before it.
long double exact_update(HostTensor const& X, OracleModel& M, std::size_t mode, Constraints const& c) {
  auto const [V, H]      = oracle_problem(X, M, mode);
  std::size_t const rank = M.rank;
  long double most       = 0;
  for (std::size_t k = 0; k < X.extents[mode]; ++k) {
    auto const* const v = &V[k * rank];
    std::vector<long double> const old(M.factors[mode].begin() + static_cast<std::ptrdiff_t>(k * rank),
                                       M.factors[mode].begin() + static_cast<std::ptrdiff_t>((k + 1) * rank));
    for (std::size_t r = 0; r < rank; ++r) {
      if (H(r, r) + c.ridge == 0) continue;
      long double left = v[r];
      for (std::size_t s = 0; s < rank; ++s)
        if (s != r) left -= old[s] * H(s, r);
      long double const l1   = c.l1;
      long double const soft = left > l1 ? left - l1 : left < -l1 ? left + l1 : 0;
      long double const next =
          std::min(std::max(soft / (H(r, r) + c.ridge), static_cast<long double>(c.lower)),
                   static_cast<long double>(c.upper));
      most = std::max(most, std::abs(next - old[r]) * std::sqrt(H(r, r)));
    }
    auto const row = exact_row(H, v, c, old);
    std::copy(row.begin(), row.end(), M.factors[mode].begin() + static_cast<std::ptrdiff_t>(k * rank));
  }
  return most;
}

long double exact_objective(HostTensor const& X, OracleModel const& M, std::vector<Constraints> const& all) {
  long double squared = 0;
  for (double const value : X.values) squared += static_cast<long double>(value) * value;
  long double const left = 1 - oracle_fit(X, M);
  long double sum        = left * left * squared / 2;
  for (std::size_t n = 0; n < all.size(); ++n)
    for (long double const entry : M.factors[n])
      sum += all[n].l1 * std::abs(entry) + all[n].ridge / 2 * entry * entry;
  return sum;
}

/// A run from a given start, iteration by iteration.
template <class Scalar>
void expect_exact_run(HostTensor tensor, std::vector<Constraints> const& constraints, count_t rank,
                      int iterations) {
  CAPTURE(tensor.order(), rank, sizeof(Scalar));
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value));
  UpdateList updates;
  for (auto const& c : constraints) updates.push_back(constrained(c, exact_inner));
  auto const options = updated_by(updates, rank, iterations);
  TestSpace const space;
  FactorMatrices<Scalar, TestSpace> const start(space, Extents(std::span<count_t const>(tensor.extents)),
                                                rank);
  random_start(space, start, options);
  auto expected     = on_host(Ktensor<Scalar, TestSpace>{std::vector<double>(rank, 1.0), start});
  auto const result = cp_als(space, summed_in_fixed_order<Scalar>(tensor), options, start);
  double squared    = 0;
  for (double const value : tensor.values) squared += value * value;
  double const tolerance = update_rounding<Scalar>;
  for (int k = 0; k < iterations; ++k) {
    CAPTURE(k);
    long double violation = 0;
    for (std::size_t n = 0; n < tensor.order(); ++n)
      violation = std::max(violation, exact_update(tensor, expected, n, constraints[n]));
    auto const& iteration = result.history[static_cast<std::size_t>(k)];
    auto const wanted     = static_cast<double>(exact_objective(tensor, expected, constraints));
    CHECK(std::abs(iteration.objective - wanted) <= tolerance * std::max(wanted, squared));
    CHECK(std::abs(iteration.kkt_violation - static_cast<double>(violation) / std::sqrt(squared)) <=
          10 * tolerance);
  }
  CHECK(difference_of_cells(tensor, on_host(result.model), expected) < 30 * tolerance);
}

TEST_CASE("Exact rows: runs are those of long doubles, for bounds, l1 and ridges", "[cp]") {
  auto const tensor = noisy_tensor({6, 5, 7});
  Constraints const nonnegative{.lower = 0}, box{.lower = -0.25, .upper = 0.75}, free{}, low{.lower = 0.125},
      negative{.upper = 0}, lasso{.l1 = 0.5, .ridge = 0.125},
      all{.lower = 0, .upper = 2, .l1 = 0.5, .ridge = 1}, kink{.lower = -1, .upper = 2, .l1 = 1};
  for (auto const& constraints :
       std::vector<std::vector<Constraints>>{{nonnegative, nonnegative, nonnegative},
                                             {nonnegative, free, nonnegative},
                                             {box, nonnegative, low},
                                             {negative, nonnegative, negative},
                                             {lasso, lasso, lasso},
                                             {all, all, all},
                                             {kink, box, kink}}) {
    expect_exact_run<double>(tensor, constraints, 3, 4);
    expect_exact_run<float>(tensor, constraints, 2, 2);
  }
  expect_exact_run<double>(noisy_tensor({9, 8}), {nonnegative, nonnegative}, 4, 5);
  expect_exact_run<double>(noisy_tensor({4, 3, 5, 2}), std::vector<Constraints>(4, nonnegative), 3, 4);
}

/// Rows of any length, against their conditions: no entry's own update changes the row.
template <class Scalar>
void expect_conditions(count_t rank, count_t inner, Constraints const& c) {
  CAPTURE(rank, inner, c.lower, c.upper, c.l1, c.ridge, sizeof(Scalar));
  TestSpace const space;
  count_t const rows = 5;
  Random random(rank + inner);
  std::vector<double> K(inner * rank), y(rows * inner), h(rank * rank, 0.0), v(rows * rank, 0.0);
  for (double& number : K) number = random_below(random, 3) == 0 ? 0 : random_number(random) / 2;
  for (double& number : y) number = random_number(random);
  for (count_t r = 0; r < rank; ++r) {
    for (count_t s = 0; s < rank; ++s)
      for (count_t i = 0; i < inner; ++i) h[r * rank + s] += K[i * rank + r] * K[i * rank + s];
    for (count_t k = 0; k < rows; ++k)
      for (count_t i = 0; i < inner; ++i) v[k * rank + r] += y[k * inner + i] * K[i * rank + r];
  }
  GramMatrix<TestSpace> const H("polyad::test", rank, rank);
  auto const host = Kokkos::create_mirror_view(H);
  std::copy(h.begin(), h.end(), host.data());
  Kokkos::deep_copy(H, host);
  DeviceNumbers<TestSpace> const weights("polyad::test", rank), scale("polyad::test", rank),
      change("polyad::test", 1);
  Kokkos::deep_copy(weights, 0.5);  // powers of two change nothing
  Kokkos::deep_copy(scale, 1.0);
  auto const V = make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  auto const A = make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  from_host<Scalar>(space, v, V);
  from_host<Scalar>(space, std::vector<double>(rows * rank, std::min(std::max(0.0, c.lower), c.upper)), A);
  ModeProblem<TestSpace> const problem{H, weights, scale, 0.5, {}, change};
  ColumnNumbers<TestSpace> const columns("polyad::test", detail::column_numbers, rank);
  prepare_columns(space, problem, c, columns);
  // V is that of c X, and so are the penalties.
  auto const memory = detail::memory_of_rows<Scalar>(space, rows, rank);
  detail::solve_rows(space, problem, columns, c, memory, V, A);
  space.fence("polyad::test");
  auto const a     = to_host<Scalar>(space, A);
  v                = to_host<Scalar>(space, V);
  long double size = 0, worst = 0;
  for (double const number : v) size = std::max(size, std::abs(static_cast<long double>(number)));
  for (count_t k = 0; k < rows; ++k)
    for (count_t r = 0; r < rank; ++r) {
      long double gradient = v[k * rank + r];
      for (count_t s = 0; s < rank; ++s)
        gradient -= static_cast<long double>(h[r * rank + s]) * a[k * rank + s] / 2;
      double const entry = a[k * rank + r];
      CHECK((entry >= c.lower && entry <= c.upper));
      // The penalty's slopes on x = w a with w = c = 1/2: l1 / 2 and ridge x.
      gradient -= static_cast<long double>(c.ridge) * entry / 2;
      long double const l1   = static_cast<long double>(c.l1) / 2;
      long double const up   = gradient - (entry >= 0 ? l1 : -l1);
      long double const down = -gradient - (entry <= 0 ? l1 : -l1);
      if (entry < c.upper) worst = std::max(worst, up);
      if (entry > c.lower) worst = std::max(worst, down);
    }
  CHECK(static_cast<double>(worst / (1 + size)) < (sizeof(Scalar) == 4 ? 2e-4 : 1e-10));
}

TEST_CASE("Exact rows: any rank, regular and singular", "[cp]") {
  Constraints const nonnegative{.lower = 0}, box{.lower = -0.5, .upper = 0.25}, lasso{.l1 = 1, .ridge = 0.5};
  for (count_t const rank : {1, 2, 5, 16, 33, 64, 100, 150}) {
    for (auto const& c : {nonnegative, box, lasso}) {
      expect_conditions<double>(rank, rank + 3, c);
      expect_conditions<double>(rank, std::max<count_t>(1, rank / 2), c);
    }
    expect_conditions<float>(rank, rank + 3, nonnegative);
  }
}

TEST_CASE("Exact rows: every run has the same bits, and a run continues from its checkpoint", "[cp]") {
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const options = updated_by({nonnegative(exact_inner)}, 5, 6);
  auto const a       = run_with<double>(tensor, options);
  auto const b       = run_with<double>(tensor, options);
  CHECK(a.fit == b.fit);
  for (int n = 0; n < 3; ++n) CHECK(flat(a.model.factors[n]) == flat(b.model.factors[n]));
  REQUIRE(a.model.constraints.size() == 3);
  CHECK(a.model.constraints[1] == Constraints{.lower = 0});
}

}  // namespace
}  // namespace polyad::test
