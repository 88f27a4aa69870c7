// SPDX-License-Identifier: BSD-3-Clause
// Bounds and penalties by coordinate descent. The reference is the same method in long double, by the
// formula as it is written, on the factors B of a model without weights.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cp/drawn_constraints.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using ConstraintList = std::vector<Constraints>;

/// One sweep or more over each row of a mode. Returns the largest violation of the first sweep.
long double oracle_sweeps(HostTensor const& X, OracleModel& M, std::size_t mode, Constraints const& c,
                          int sweeps) {
  auto const [V, H]      = oracle_problem(X, M, mode);
  std::size_t const rank = M.rank;
  long double most       = 0;
  for (std::size_t k = 0; k < X.extents[mode]; ++k)
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (std::size_t r = 0; r < rank; ++r) {
        if (H(r, r) + c.ridge == 0 && c.l1 == 0) continue;
        long double left = V[k * rank + r];
        for (std::size_t s = 0; s < rank; ++s)
          if (s != r) left -= M.factors[mode][k * rank + s] * H(s, r);
        long double const l1   = c.l1;
        long double const soft = left > l1 ? left - l1 : left < -l1 ? left + l1 : 0;
        long double next       = H(r, r) + c.ridge == 0 ? 0 : soft / (H(r, r) + c.ridge);
        next = std::min(std::max(next, static_cast<long double>(c.lower)), static_cast<long double>(c.upper));
        long double& entry = M.factors[mode][k * rank + r];
        if (sweep == 0) most = std::max(most, std::abs(next - entry) * std::sqrt(H(r, r)));
        entry = next;
      }
  return most;
}

long double norm_of(HostTensor const& X) {
  long double sum = 0;
  for (double const value : X.values) sum += static_cast<long double>(value) * value;
  return std::sqrt(sum);
}

/// 1/2 ||X - M||^2 and the penalties.
long double oracle_objective(HostTensor const& X, OracleModel const& M, ConstraintList const& constraints) {
  long double const distance = (1 - oracle_fit(X, M)) * norm_of(X);
  long double sum            = distance * distance / 2;
  for (std::size_t n = 0; n < constraints.size(); ++n)
    for (long double const entry : M.factors[n])
      sum += constraints[n].l1 * std::abs(entry) + constraints[n].ridge / 2 * entry * entry;
  return sum;
}

UpdateList updates_of(ConstraintList const& constraints, int sweeps) {
  UpdateList updates;
  for (auto const& c : constraints) updates.push_back(constrained(c, sweeps));
  return updates;
}

/// A start with numbers of the random one, within the bounds.
template <class Scalar>
FactorMatrices<Scalar, TestSpace> start_within(HostTensor const& X, CpAlsOptions const& options) {
  TestSpace const space;
  FactorMatrices<Scalar, TestSpace> const factors(space, Extents(std::span<count_t const>(X.extents)),
                                                  options.rank);
  random_start(space, factors, options);
  return factors;
}

template <class Scalar>
OracleModel as_oracle(FactorMatrices<Scalar, TestSpace> const& factors) {
  return on_host(Ktensor<Scalar, TestSpace>{std::vector<double>(factors.rank(), 1.0), factors});
}

/// The entries of a tensor that are kept, about one in `of`.
HostTensor thinned(HostTensor tensor, Random& random, std::size_t of) {
  HostTensor kept{tensor.name, tensor.extents, {}, {}};
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    if (random_below(random, of) != 0) continue;
    for (std::size_t n = 0; n < tensor.order(); ++n) kept.indices.push_back(tensor.index(p, n));
    kept.values.push_back(tensor.values[p]);
  }
  return kept;
}

/// The run from a given start against the reference, iteration by iteration.
template <class Scalar>
void expect_reference(HostTensor tensor, ConstraintList const& constraints, count_t rank, int sweeps,
                      int iterations) {
  CAPTURE(tensor.order(), rank, sweeps, sizeof(Scalar));
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value));
  auto const options     = updated_by(updates_of(constraints, sweeps), rank, iterations);
  auto const start       = start_within<Scalar>(tensor, options);
  auto expected          = as_oracle(start);
  auto const result      = cp_als(TestSpace(), summed_in_fixed_order<Scalar>(tensor), options, start);
  long double const norm = norm_of(tensor);
  double const tolerance = update_rounding<Scalar>;
  double objective       = static_cast<double>(oracle_objective(tensor, expected, constraints));
  for (int k = 0; k < iterations; ++k) {
    long double violation = 0;
    for (std::size_t n = 0; n < tensor.order(); ++n)
      violation = std::max(violation, oracle_sweeps(tensor, expected, n, constraints[n], sweeps));
    auto const& iteration = result.history[static_cast<std::size_t>(k)];
    CAPTURE(k);
    auto const wanted = static_cast<double>(oracle_objective(tensor, expected, constraints));
    CHECK(std::abs(iteration.objective - wanted) <= tolerance * std::max(wanted, double(norm * norm)));
    CHECK(std::abs(iteration.kkt_violation - static_cast<double>(violation / norm)) <= 10 * tolerance);
    // The formula's squares cancel: rounding errors are those of ||X||^2 and ||M||^2.
    CHECK(iteration.objective <= objective + tolerance * std::max(objective, double(norm * norm)));
    objective = iteration.objective;
  }
  CHECK(difference_of_cells(tensor, on_host(result.model), expected) < 10 * tolerance);
  CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, expected))) < tolerance);
  CHECK(result.objective == Approx(result.history.back().objective).epsilon(1e-3));
}

TEST_CASE("Constraints: nonnegative models are those of long doubles, orders 2 to 5", "[cp]") {
  std::vector<std::uint64_t> const all{8, 7, 5, 4, 3};
  for (std::size_t order = 2; order <= 5; ++order) {
    std::vector<std::uint64_t> const extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
    ConstraintList const constraints(order, Constraints{.lower = 0});
    for (int const sweeps : {1, 3}) {
      expect_reference<double>(noisy_tensor(extents), constraints, 3, sweeps, 6);
      expect_reference<float>(noisy_tensor(extents), constraints, 3, sweeps, 6);
    }
  }
}

TEST_CASE("Constraints: bounds, l1 and ridges in any combination are those of long doubles", "[cp]") {
  auto const tensor = noisy_tensor({9, 7, 8});
  Constraints const nonnegative{.lower = 0}, box{.lower = -0.25, .upper = 0.75}, free{}, low{.lower = 0.125},
      negative{.upper = 0}, lasso{.l1 = 0.5}, ridged{.l1 = 0.25, .ridge = 2},
      all{.lower = 0, .upper = 2, .l1 = 0.5, .ridge = 1};
  for (auto const& constraints : std::vector<ConstraintList>{{nonnegative, free, free},
                                                             {free, nonnegative, nonnegative},
                                                             {box, nonnegative, free},
                                                             {low, free, box},
                                                             {negative, nonnegative, negative},
                                                             {lasso, lasso, lasso},
                                                             {ridged, box, all},
                                                             {box, box, box},
                                                             {all, all, all}}) {
    expect_reference<double>(tensor, constraints, 4, 2, 8);
    expect_reference<float>(tensor, constraints, 4, 1, 8);
  }
}

TEST_CASE("Constraints: random draws are those of long doubles, and the objective never rises", "[cp]") {
  Random random(20);
  for (int draw = 0; draw < 120; ++draw) {
    CAPTURE(draw);
    std::size_t const order = 2 + random_below(random, 5);
    std::vector<std::uint64_t> extents;
    for (std::size_t n = 0; n < order; ++n) extents.push_back(2 + random_below(random, order < 5 ? 6 : 2));
    auto const tensor      = thinned(noisy_tensor(extents), random, 1 + random_below(random, 2));
    auto const constraints = drawn_constraints(random, order);
    count_t const rank     = 1 + random_below(random, 5);
    int const sweeps       = 1 + static_cast<int>(random_below(random, 3));
    if (tensor.nnz() == 0) continue;
    if (random_below(random, 2) == 0)
      expect_reference<double>(tensor, constraints, rank, sweeps, 4);
    else
      expect_reference<float>(tensor, constraints, rank, sweeps, 2);
  }
}

TEST_CASE("Constraints: any rank", "[cp]") {
  auto const tensor = noisy_tensor({9, 7, 8});
  for (count_t const rank : {1, 16, 33, 64, 130, 700}) {
    ConstraintList const constraints(3, Constraints{.lower = 0});
    expect_reference<double>(tensor, constraints, rank, 1, 2);
  }
}

TEST_CASE("Constraints: at the end no entry can improve the objective", "[cp]") {
  TestSpace const space;
  auto const tensor = noisy_tensor({9, 7, 8});
  for (auto const& constraints :
       {ConstraintList(3, Constraints{.lower = 0}), ConstraintList(3, Constraints{.l1 = 2, .ridge = 1}),
        ConstraintList(3, Constraints{.lower = -0.5, .upper = 1})}) {
    auto options          = updated_by(updates_of(constraints, 2), 3, 20000);
    options.kkt_tolerance = 1e-8;
    auto const result     = cp_als(space, summed_in_fixed_order<double>(tensor), options);
    CHECK(result.reason == StopReason::converged);
    CHECK(result.history.size() < 20000);
    CHECK(result.kkt_violation < 1e-8);
    auto M = on_host(result.model);
    for (std::size_t r = 0; r < M.rank; ++r)  // weights into the factors, evenly
      for (auto& factor : M.factors)
        for (std::size_t e = r; e < factor.size(); e += M.rank) factor[e] *= std::cbrt(M.weights[r]);
    std::fill(M.weights.begin(), M.weights.end(), 1.0L);
    for (std::size_t n = 0; n < 3; ++n) {
      auto probe = M;
      CHECK(static_cast<double>(oracle_sweeps(tensor, probe, n, constraints[n], 1) / norm_of(tensor)) < 4e-8);
    }
  }
}

TEST_CASE("Constraints: a zero column leaves its component as it is, and is counted", "[cp]") {
  TestSpace const space;
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const options = updated_by({nonnegative()}, 3, 3);
  auto const start   = start_within<double>(tensor, options);
  auto numbers       = to_host<double>(space, start[2]);
  for (std::size_t i = 0; i < 8; ++i) numbers[i * 3 + 1] = 0;
  from_host<double>(space, numbers, start[2]);
  auto one    = options;
  one.updates = {constrained({.lower = 0}), constrained({.lower = 0}), constrained({.lower = 0, .upper = 0})};
  auto const all_zero =
      cp_als(space, summed_in_fixed_order<double>(tensor), one, start_within<double>(tensor, one));
  CHECK(all_zero.zero_components == std::vector<int>{0, 1, 2});
  CHECK(all_zero.zeros == std::vector<count_t>{0, 0, 24});
  CHECK(all_zero.fit == 0);
  CHECK(all_zero.defect == ModelDefect::zero);
  // The column of mode 2 comes back; modes 0 and 1 keep theirs until then.
  auto expected = as_oracle(start);
  for (int k = 0; k < 3; ++k)
    for (std::size_t n = 0; n < 3; ++n) oracle_sweeps(tensor, expected, n, {.lower = 0}, 1);
  auto const result = cp_als(space, summed_in_fixed_order<double>(tensor), options, start);
  CHECK(difference_of_cells(tensor, on_host(result.model), expected) < update_rounding<double>);
}

TEST_CASE("Constraints: entries are within their bounds, bounded modes have their numbers in the model",
          "[cp]") {
  TestSpace const space;
  auto const expect_within = [&]<class Scalar>(Scalar) {
    auto const tensor = noisy_tensor({9, 7, 8});
    auto const result =
        cp_als(space, summed_in_fixed_order<Scalar>(tensor),
               updated_by({constrained({.lower = 0.1, .upper = 0.3}), {}, nonnegative()}, 3, 9));
    auto const bounded = flat(result.model.factors[0]), positive = flat(result.model.factors[2]);
    CHECK(*std::min_element(bounded.begin(), bounded.end()) == static_cast<double>(Scalar(0.1)));
    CHECK(*std::max_element(bounded.begin(), bounded.end()) == static_cast<double>(Scalar(0.3)));
    CHECK(*std::min_element(positive.begin(), positive.end()) == 0);
    CHECK(result.zeros[0] == 0);
    CHECK(result.zeros[2] == count_t(std::count(positive.begin(), positive.end(), 0.0)));
    CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, on_host(result.model)))) <
          update_rounding<Scalar>);
  };
  expect_within(double());
  expect_within(float());
}

TEST_CASE("Constraints: a positive lower bound applies to empty rows, too", "[cp]") {
  auto tensor = noisy_tensor({9, 7, 8});
  tensor.extents[1] += 2;
  auto const result = cp_als(TestSpace(), summed_in_fixed_order<double>(tensor),
                             updated_by({nonnegative(), constrained({.lower = 0.5}), {}}, 3, 9));
  auto const A      = flat(result.model.factors[1]);
  for (std::size_t e = 7 * 3; e < A.size(); ++e) CHECK(A[e] >= 0.5);
  CpAlsOptions options = updated_by({{}, constrained({.lower = 0.5}), {}}, 3, 1);
  std::vector<std::uint64_t> const rows{0, 1, 2, 3, 4, 5, 6};
  options.rows      = {StoredRows(9), StoredRows(9, rows), StoredRows(8)};
  auto const stored = noisy_tensor({9, 7, 8});
  CHECK(message_of([&] {
          static_cast<void>(cp_als(TestSpace(), summed_in_fixed_order<double>(stored), options));
        }).find("mode 1 has rows that are not stored") != std::string::npos);
}

TEST_CASE("Constraints: a random start is scaled to the tensor, a given one counts as it is", "[cp]") {
  TestSpace const space;
  for (double const scale : {1.0, 0x1p40, 0x1p-40, 0x1p650}) {
    CAPTURE(scale);
    auto const X       = summed_in_fixed_order<double>(noisy_tensor({9, 7, 8}, scale));
    auto const options = updated_by({nonnegative()}, 3, 5);
    auto const usual   = cp_als(space, summed_in_fixed_order<double>(noisy_tensor({9, 7, 8})), options);
    auto const scaled  = cp_als(space, X, options);
    CHECK(std::abs(usual.fit - scaled.fit) < update_rounding<double>);
  }
  auto const tensor   = noisy_tensor({9, 7, 8});
  auto const X        = summed_in_fixed_order<double>(tensor);
  auto options        = updated_by({nonnegative()}, 3, 1);
  auto const random   = cp_als(space, X, options);
  auto const given    = cp_als(space, X, options, start_within<double>(tensor, options));
  options.scale_start = true;
  auto const scaled   = cp_als(space, X, options, start_within<double>(tensor, options));
  CHECK(random.fit == scaled.fit);
  CHECK(std::abs(random.fit - given.fit) > 1e-6);
  // By hand: the start times <X, M> / ||M||^2.
  auto M            = as_oracle(start_within<double>(tensor, options));
  long double inner = 0, squared = 0;
  std::size_t p = 0;
  for_each_cell(tensor.extents, [&](auto const& cell, std::size_t) {
    inner += tensor.values[p++] * M.at(cell);
    squared += M.at(cell) * M.at(cell);
  });
  for (long double& entry : M.factors[0]) entry *= inner / squared;
  for (std::size_t n = 0; n < 3; ++n) oracle_sweeps(tensor, M, n, {.lower = 0}, 1);
  CHECK(difference_of_cells(tensor, on_host(random.model), M) < update_rounding<double>);
}

TEST_CASE("Constraints: a run continues from its state to the same bits", "[cp]") {
  TestSpace const space;
  auto const tensor = noisy_tensor({9, 7, 8});
  auto const X      = summed_in_fixed_order<double>(tensor);
  for (auto const& updates : {UpdateList{nonnegative(2)}, UpdateList{constrained({.l1 = 1, .ridge = 1})},
                              UpdateList{{}, nonnegative(), constrained({.lower = -1, .upper = 1})}}) {
    TemporaryFolder const folder;
    auto options       = updated_by(updates, 3, 4);
    options.checkpoint = folder / "c";
    static_cast<void>(cp_als(space, X, options));
    options.max_iterations = 9;
    options.checkpoint.clear();
    auto const a   = cp_als(space, X, options);
    options.resume = folder / "c";
    auto const b   = cp_als(space, X, options);
    CHECK(a.fit == b.fit);
    CHECK(a.objective == b.objective);
    CHECK(a.kkt_violation == b.kkt_violation);
    for (int n = 0; n < 3; ++n) CHECK(flat(a.model.factors[n]) == flat(b.model.factors[n]));
  }
}

TEST_CASE("Constraints: each restart has its own start within the bounds", "[cp]") {
  TestSpace const space;
  auto const X          = summed_in_fixed_order<double>(noisy_tensor({9, 7, 8}));
  auto options          = updated_by({nonnegative(), constrained({.lower = 1, .upper = 2}), {}}, 3, 5);
  options.restarts      = 3;
  auto const of_several = cp_als(space, X, options);
  options.seed          = of_several.restarts[of_several.best_restart].seed;
  options.restarts      = 1;
  CHECK(of_several.fit == cp_als(space, X, options).fit);
}

TEST_CASE("Constraints: what cannot be is refused", "[cp]") {
  for (auto const& bad : {Constraints{.lower = 1, .upper = 0}, Constraints{.lower = std::nan("")},
                          Constraints{.upper = std::nan("")}, Constraints{.lower = infinite},
                          Constraints{.upper = -infinite}, Constraints{.l1 = -1}, Constraints{.ridge = -1},
                          Constraints{.l1 = infinite}, Constraints{.ridge = std::nan("")}})
    CHECK_THROWS_AS(constrained(bad), UsageError);
  CHECK_THROWS_AS(constrained({}, 0), UsageError);
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const message = [&](UpdateList const& updates) {
    return message_of([&] {
      static_cast<void>(cp_als(TestSpace(), summed_in_fixed_order<float>(tensor), updated_by(updates, 3, 1)));
    });
  };
  CHECK(message({constrained({.l1 = 1}), nonnegative(), ridge(1)}).find("mode 1 has no penalty") !=
        std::string::npos);
  CHECK(message({constrained({.l1 = 1}), constrained({.lower = -1, .upper = 1}), ridge(1)}) ==
        "nothing was thrown");
  auto measured          = updated_by({{}, ridge(1), {}}, 3, 1);
  measured.kkt_tolerance = 0.1;
  CHECK(message_of([&] {
          static_cast<void>(cp_als(TestSpace(), summed_in_fixed_order<float>(tensor), measured));
        }).find("is for modes with bounds or an l1 penalty") != std::string::npos);
  CHECK(message({constrained({.lower = -1e300})}).find("outside the range of the precision") !=
        std::string::npos);
  auto const options = updated_by({{}, constrained({.lower = 1}), {}}, 3, 1);
  auto const start   = start_within<double>(tensor, updated_by({}, 3, 1));
  CHECK(message_of([&] {
          static_cast<void>(cp_als(TestSpace(), summed_in_fixed_order<double>(tensor), options, start));
        }).find("the start of mode 1 violates") != std::string::npos);
}

}  // namespace
}  // namespace polyad::test
