// SPDX-License-Identifier: BSD-3-Clause
// The updates of CP-ALS: least squares, ridge and those of users. The reference is the same method in long
// double, on factors B of a model without weights, whose penalties are on B as it is.
#include "polyad/cp/factor_update.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/registry.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/cp_als_loop.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

/// B = V (H + penalty I)^-1
void oracle_ridge(HostTensor const& X, OracleModel& M, std::size_t mode, double penalty) {
  auto [V, H]            = oracle_problem(X, M, mode);
  std::size_t const rank = M.rank;
  for (std::size_t r = 0; r < rank; ++r) H(r, r) += penalty;
  auto const inverse = oracle_inverse(H);
  for (std::size_t k = 0; k < X.extents[mode]; ++k)
    for (std::size_t r = 0; r < rank; ++r) {
      long double sum = 0;
      for (std::size_t s = 0; s < rank; ++s) sum += V[k * rank + s] * inverse(s, r);
      M.factors[mode][k * rank + r] = sum;
    }
}

/// One pass of nonnegative coordinate descent over the columns of each row.
void oracle_descent(HostTensor const& X, OracleModel& M, std::size_t mode) {
  auto const [V, H]      = oracle_problem(X, M, mode);
  std::size_t const rank = M.rank;
  for (std::size_t k = 0; k < X.extents[mode]; ++k)
    for (std::size_t r = 0; r < rank; ++r) {
      long double left = V[k * rank + r];
      for (std::size_t s = 0; s < rank; ++s)
        if (s != r) left -= M.factors[mode][k * rank + s] * H(s, r);
      M.factors[mode][k * rank + r] = std::max(left / H(r, r), 0.0L);
    }
}

// ---- least squares

template <class Scalar>
void expect_same_bits_as_least_squares(UpdateList const& updates) {
  auto const tensor   = noisy_tensor({9, 7, 8});
  auto const expected = run_with<Scalar>(tensor, updated_by({}, 3, 7));
  auto const result   = run_with<Scalar>(tensor, updated_by(updates, 3, 7));
  CHECK(result.model.weights == expected.model.weights);
  CHECK(result.fit == expected.fit);
  for (int n = 0; n < 3; ++n) CHECK(flat(result.model.factors[n]) == flat(expected.model.factors[n]));
}

TEST_CASE("Updates: least squares, however it is chosen, gives the same bits", "[cp]") {
  for (auto const& updates :
       {UpdateList{least_squares()}, UpdateList(3), UpdateList{ridge(0)}, UpdateList{ridge(0), {}, {}}}) {
    expect_same_bits_as_least_squares<double>(updates);
    expect_same_bits_as_least_squares<float>(updates);
  }
}

/// Least squares of a user, in the plainest way: H^-1 by Gauss-Jordan on the device, by one thread.
template <class Scalar>
struct SolveByOneThread {
  ModeProblem<TestSpace> problem;
  FactorMatrix<Scalar, TestSpace> V, A;
  Kokkos::View<double**, Kokkos::LayoutRight, TestSpace::device_type> H;  // R x 2 R

  KOKKOS_FUNCTION void operator()(count_t) const {
    count_t const rank = A.extent(1);
    for (count_t i = 0; i < rank; ++i)
      for (count_t j = 0; j < rank; ++j) {
        H(i, j)        = problem.weights(i) * problem.H(i, j) * problem.weights(j);
        H(i, rank + j) = i == j ? 1 : 0;
      }
    for (count_t k = 0; k < rank; ++k) {
      double const pivot = H(k, k);
      for (count_t j = 0; j < 2 * rank; ++j) H(k, j) /= pivot;
      for (count_t i = 0; i < rank; ++i) {
        double const factor = i == k ? 0 : H(i, k);
        for (count_t j = 0; j < 2 * rank; ++j) H(i, j) -= factor * H(k, j);
      }
    }
    for (count_t i = 0; i < A.extent(0); ++i)
      for (count_t r = 0; r < rank; ++r) {
        double sum = 0;
        for (count_t s = 0; s < rank; ++s) sum += V(i, s) * problem.weights(s) * H(s, rank + r);
        A(i, r) = static_cast<Scalar>(sum);
      }
  }
};

template <class Scalar>
class OwnLeastSquares final : public FactorUpdate<Scalar, TestSpace> {
public:
  using Matrix = FactorMatrix<Scalar, TestSpace>;
  OwnLeastSquares(TestSpace const&, UpdateSite const& site, bool needs_start)
      : m_needs_start(needs_start), m_H("polyad::test", site.rank, 2 * site.rank) {}
  [[nodiscard]] bool needs_start() const override { return m_needs_start; }
  void apply(TestSpace const& space, ModeProblem<TestSpace> const& problem, Matrix const& V, Matrix const& A,
             UpdateSums<TestSpace> const& sums) override {
    Kokkos::parallel_for("polyad::test", Kokkos::RangePolicy<TestSpace>(space, 0, 1),
                         SolveByOneThread<Scalar>{problem, V, A, m_H});
    sum_update<Scalar, TestSpace>(space, problem, V, A, sums);
  }

private:
  bool m_needs_start;
  Kokkos::View<double**, Kokkos::LayoutRight, TestSpace::device_type> m_H;
};

template <class Scalar>
void expect_own_least_squares(bool needs_start, double scale) {
  CAPTURE(needs_start, scale, sizeof(Scalar));
  auto const tensor   = noisy_tensor({9, 7, 8}, scale);
  auto const expected = run_with<Scalar>(tensor, updated_by({}, 3, 4));
  auto const own      = own_update<OwnLeastSquares<Scalar>>(needs_start);
  for (auto const& updates : {UpdateList{own}, UpdateList{{}, own, {}}, UpdateList{own, {}, own}}) {
    auto const result = run_with<Scalar>(tensor, updated_by(updates, 3, 4));
    CHECK(difference_of_cells(tensor, on_host(result.model), on_host(expected.model)) <
          update_rounding<Scalar>);
    CHECK(std::abs(result.fit - expected.fit) < update_rounding<Scalar>);
    for (std::size_t k = 0; k < 4; ++k)
      CHECK(std::abs(result.history[k].fit - expected.history[k].fit) < update_rounding<Scalar>);
  }
}

TEST_CASE("Updates: the least squares of a user give the model of the library's, at any scale", "[cp]") {
  for (bool const needs_start : {false, true}) {
    for (double const scale : {1.0, 1e200, 1e-200}) expect_own_least_squares<double>(needs_start, scale);
    for (double const scale : {1.0, 1e30, 1e-30}) expect_own_least_squares<float>(needs_start, scale);
  }
}

// ---- ridge

template <class Scalar>
void expect_ridge(std::vector<std::uint64_t> const& extents, std::vector<double> const& penalties,
                  double scale = 1) {
  CAPTURE(extents.size(), penalties[0], scale, sizeof(Scalar));
  auto tensor = noisy_tensor(extents, scale);
  for (double& value : tensor.values) value = static_cast<Scalar>(value);
  auto expected = start_of<Scalar>(extents, 3);
  UpdateList updates;
  for (double const penalty : penalties) updates.push_back(ridge(penalty));
  int const iterations = 4;
  auto const of_mode_n = [&](std::size_t n) { return penalties[penalties.size() == 1 ? 0 : n]; };
  for (int k = 0; k < iterations; ++k)
    for (std::size_t n = 0; n < extents.size(); ++n) oracle_ridge(tensor, expected, n, of_mode_n(n));
  auto const result = run_with<Scalar>(tensor, updated_by(updates, 3, iterations));
  CHECK(difference_of_cells(tensor, on_host(result.model), expected) < update_rounding<Scalar>);
  CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, expected))) < update_rounding<Scalar>);
  // Without the penalties the model is another one.
  auto const plain = run_with<Scalar>(tensor, updated_by({}, 3, iterations));
  CHECK(difference_of_cells(tensor, on_host(plain.model), expected) > 10 * update_rounding<Scalar>);
}

TEST_CASE("Ridge: the model of dense long doubles, orders 2 to 5", "[cp]") {
  std::vector<std::uint64_t> const all{8, 7, 5, 4, 3};
  for (std::size_t order = 2; order <= 5; ++order) {
    std::vector<std::uint64_t> const extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
    for (double const penalty : {0.5, 20.0}) {
      expect_ridge<double>(extents, {penalty});
      expect_ridge<float>(extents, {penalty});
    }
  }
}

TEST_CASE("Ridge: each mode has its own penalty", "[cp]") {
  expect_ridge<double>({8, 7, 5}, {0.5, 20, 4});
  expect_ridge<float>({8, 7, 5}, {0.5, 20, 4});
}

TEST_CASE("Ridge: the penalty refers to the factors of the tensor as it is, at any scale", "[cp]") {
  expect_ridge<double>({8, 7, 5}, {1e190}, 1e200);
  expect_ridge<double>({8, 7, 5}, {1e-210}, 1e-200);
  expect_ridge<float>({8, 7, 5}, {1e22}, 1e30);
}

TEST_CASE("Ridge: in the end the modes share the penalty evenly, and the objective descends", "[cp]") {
  auto const tensor        = noisy_tensor({9, 7, 8});
  double const penalty     = 3;
  auto const objective_for = [&](int iterations) {
    auto const X       = summed_in_fixed_order<double>(tensor);
    auto const options = updated_by({ridge(penalty)}, 3, iterations);
    TestSpace const space;
    FactorMatrices<double, TestSpace> start(space, X.extents(), 3);
    fill_random(space, start, options.seed);
    auto const run = cp_als_loop(X, options, start);
    while (run->is_running()) {
      run->launch();
      run->finish({});
    }
    auto const state = whole_state(*run);
    std::vector<double> norms(3);  // ||B^(n)||^2, from A and s
    REQUIRE(state.scales.size() == 9);
    for (std::size_t n = 0; n < 3; ++n)
      for (std::size_t e = 0; e < state.factors[n].size(); ++e)
        norms[n] += std::pow(state.factors[n][e] * state.scales[3 * n + e % 3], 2);
    auto const M         = on_host(run->take_result().model);
    long double residual = 0;
    for (std::size_t p = 0; p < tensor.nnz(); ++p) {
      std::vector<std::uint64_t> const cell{tensor.index(p, 0), tensor.index(p, 1), tensor.index(p, 2)};
      residual += std::pow(tensor.values[p] - M.at(cell), 2);
    }
    norms.push_back(static_cast<double>(residual) / 2 + penalty / 2 * (norms[0] + norms[1] + norms[2]));
    return norms;
  };
  double before = std::numeric_limits<double>::infinity();
  for (int const iterations : {1, 2, 3, 5, 10, 30}) {
    double const objective = objective_for(iterations)[3];
    CHECK(objective < before);
    before = objective;
  }
  // At a minimum no component can move its scale from one mode to another.
  auto const norms = objective_for(3000);
  CHECK(std::abs(norms[1] / norms[0] - 1) < 1e-6);
  CHECK(std::abs(norms[2] / norms[0] - 1) < 1e-6);
}

TEST_CASE("Ridge: a penalty that nothing outweighs leaves a model of zeros", "[cp]") {
  auto const tensor = noisy_tensor({9, 7, 8}, 1e-3);
  for (double const penalty : {100.0, 1e30}) {
    auto const of_doubles = run_with<double>(tensor, updated_by({ridge(penalty)}, 3, 40));
    CHECK(of_doubles.defect == ModelDefect::zero);
    CHECK(std::abs(of_doubles.fit) < 1e-12);
    auto const of_floats = run_with<float>(tensor, updated_by({ridge(penalty)}, 3, 40));
    CHECK(of_floats.defect == ModelDefect::zero);
  }
}

// ---- own updates

/// A row by nonnegative coordinate descent (examples/own_update.cpp).
template <class Scalar>
struct DescendOwnRow {
  ModeProblem<TestSpace> problem;
  FactorMatrix<Scalar, TestSpace> V, A;

  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t r = 0; r < A.extent(1); ++r) {
      double left = V(i, r);
      for (count_t s = 0; s < A.extent(1); ++s)
        if (s != r) left -= A(i, s) * problem.weights(s) * problem.H(s, r);
      double const best = left / (problem.weights(r) * problem.H(r, r));
      A(i, r)           = static_cast<Scalar>(best > 0 ? best : 0);
    }
  }
};

template <class Scalar>
class OwnDescent final : public FactorUpdate<Scalar, TestSpace> {
public:
  using Matrix = FactorMatrix<Scalar, TestSpace>;
  OwnDescent(TestSpace const&, UpdateSite const&, bool keeps_scale) : m_keeps_scale(keeps_scale) {}
  [[nodiscard]] bool keeps_scale() const override { return m_keeps_scale; }
  void apply(TestSpace const& space, ModeProblem<TestSpace> const& problem, Matrix const& V, Matrix const& A,
             UpdateSums<TestSpace> const& sums) override {
    Kokkos::parallel_for("polyad::test",
                         Kokkos::RangePolicy<TestSpace, Kokkos::IndexType<count_t>>(space, 0, A.extent(0)),
                         DescendOwnRow<Scalar>{problem, V, A});
    sum_update<Scalar, TestSpace>(space, problem, V, A, sums);
  }

private:
  bool m_keeps_scale;
};

template <class Scalar>
void expect_descent(double scale, bool keeps_scale) {
  CAPTURE(scale, keeps_scale, sizeof(Scalar));
  std::vector<std::uint64_t> const extents{8, 7, 5};
  auto const tensor = noisy_tensor(extents, scale);
  auto expected     = start_of<Scalar>(extents, 3);
  for (int k = 0; k < 4; ++k)
    for (std::size_t n = 0; n < 3; ++n) oracle_descent(tensor, expected, n);
  auto const update = own_update<OwnDescent<Scalar>>(keeps_scale);
  auto const result = run_with<Scalar>(tensor, updated_by({update}, 3, 4));
  CHECK(difference_of_cells(tensor, on_host(result.model), expected) < update_rounding<Scalar>);
  for (int n = 0; n < 3; ++n) {
    auto const A = flat(result.model.factors[n]);
    CHECK(*std::min_element(A.begin(), A.end()) == 0);  // some entries are at their bound, none below
    if (!keeps_scale) continue;
    for (std::size_t e = 0; e < A.size(); ++e)  // as the update wrote it, but for the order of the components
      CHECK(std::any_of(expected.factors[static_cast<std::size_t>(n)].begin(),
                        expected.factors[static_cast<std::size_t>(n)].end(), [&](long double entry) {
                          return std::abs(entry - A[e]) <= 1e3L * update_rounding<Scalar> * std::abs(entry);
                        }));
  }
  if (keeps_scale) CHECK(result.model.weights == std::vector<double>(3, 1.0));
}

TEST_CASE("Updates: nonnegative descent is that of long doubles, with and without a scale of its own",
          "[cp]") {
  for (bool const keeps_scale : {false, true}) {
    expect_descent<double>(1, keeps_scale);
    expect_descent<float>(1, keeps_scale);
  }
}

TEST_CASE("Updates: a start far from the tensor's norm is brought near it, by powers of two", "[cp]") {
  auto const fits_at = [&]<class Scalar>(Scalar, double scale) {
    auto const update = own_update<OwnDescent<Scalar>>(false);
    auto const result = run_with<Scalar>(noisy_tensor({8, 7, 5}, scale), updated_by({update}, 3, 9));
    CHECK(result.fit > 0.1);
    return result.fit;
  };
  double const of_doubles = fits_at(double(), 0x1p100);
  for (double const scale : {0x1p650, 0x1p-650, 0x1p-100})
    CHECK(std::abs(fits_at(double(), scale) - of_doubles) < update_rounding<double>);
  double const of_floats = fits_at(float(), 0x1p30);
  for (double const scale : {0x1p90, 0x1p-90}) CHECK(std::abs(fits_at(float(), scale) - of_floats) < 1e-6);
}

/// Writes one number into all entries.
class ConstantUpdate final : public FactorUpdate<double, TestSpace> {
public:
  ConstantUpdate(TestSpace const&, UpdateSite const& site, double value) : m_value(value) {
    POLYAD_EXPECTS(site.rows == 7 && site.rank == 3 && site.mode == 1, "another site");
  }
  [[nodiscard]] bool keeps_scale() const override { return true; }
  void apply(TestSpace const& space, ModeProblem<TestSpace> const& problem, Matrix const& V, Matrix const& A,
             UpdateSums<TestSpace> const& sums) override {
    Kokkos::deep_copy(space, A, m_value);
    sum_update<double, TestSpace>(space, problem, V, A, sums);
  }

private:
  double m_value;
};

TEST_CASE("Updates: a mode that keeps its scale has its numbers in the model, its signs too", "[cp]") {
  auto const tensor = noisy_tensor({9, 7, 8});
  auto const update = own_update<ConstantUpdate>(-1234.5);
  auto const result = run_with<double>(tensor, updated_by({{}, update, {}}, 3, 3));
  CHECK(flat(result.model.factors[1]) == std::vector<double>(21, -1234.5));
  CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, on_host(result.model)))) < 1e-12);
}

// ---- states, starts, refusals

template <class Scalar>
void expect_updates_restored(UpdateList const& updates) {
  TestSpace const space;
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const X       = summed_in_fixed_order<Scalar>(tensor);
  auto const options = updated_by(updates, 3, 9);
  auto const start   = [&](std::uint64_t seed) {
    FactorMatrices<Scalar, TestSpace> const factors(space, X.extents(), options.rank);
    fill_random(space, factors, seed);
    return factors;
  };
  TemporaryFolder const folder;
  auto part           = options;
  part.max_iterations = 4;
  part.checkpoint     = folder / "c";
  static_cast<void>(cp_als(space, X, part, start(1)));
  auto rest    = options;
  rest.resume  = part.checkpoint;
  auto const a = cp_als(space, X, options, start(1)), b = cp_als(space, X, rest, start(2));
  CHECK(a.model.weights == b.model.weights);
  CHECK(a.fit == b.fit);
  for (int n = 0; n < 3; ++n) CHECK(flat(a.model.factors[n]) == flat(b.model.factors[n]));
  auto plain    = updated_by({}, 3, 9);
  plain.resume  = part.checkpoint;
  auto const of = message_of<InputError>([&] { static_cast<void>(cp_als(space, X, plain)); });
  CHECK(of.find("is a checkpoint of the ridge ") != std::string::npos);
  auto const run = cp_als_loop(X, options, start(2));
  auto state     = io::read_checkpoint(part.checkpoint);
  state.scales.clear();
  CHECK_THROWS_AS(run->driver().restore(state), UsageError);
}

TEST_CASE("Updates: a run continues from its state to the same bits", "[cp]") {
  expect_updates_restored<double>({ridge(2)});
  expect_updates_restored<float>({ridge(2)});
  expect_updates_restored<double>({own_update<OwnDescent<double>>(false)});
  expect_updates_restored<float>({own_update<OwnDescent<float>>(true)});
}

TEST_CASE("Updates: each restart has its own", "[cp]") {
  TestSpace const space;
  auto const X = summed_in_fixed_order<double>(noisy_tensor({9, 7, 8}));
  for (auto const& update : {ridge(2), own_update<OwnLeastSquares<double>>(false)}) {
    auto options          = updated_by({update}, 3, 5);
    options.restarts      = 3;
    auto const of_several = cp_als(space, X, options);
    options.restarts      = 1;
    options.seed          = of_several.restarts[of_several.best_restart].seed;
    auto const alone      = cp_als(space, X, options);
    CHECK(of_several.fit == alone.fit);
    for (int n = 0; n < 3; ++n) CHECK(flat(of_several.model.factors[n]) == flat(alone.model.factors[n]));
  }
}

TEST_CASE("Updates: what cannot be is refused", "[cp]") {
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const message = [&](UpdateList const& updates) {
    return message_of([&] { static_cast<void>(run_with<double>(tensor, updated_by(updates, 3, 1))); });
  };
  CHECK(message({ridge(1), {}, ridge(2)}).find("mode 1 has no penalty") != std::string::npos);
  CHECK(message({ridge(0), ridge(1), ridge(1)}).find("mode 0 has no penalty") != std::string::npos);
  CHECK(message(UpdateList(2)).find("2 updates for a tensor of 3 modes") != std::string::npos);
  CHECK(message({{}, {}, own_update<OwnDescent<float>>(false)}).find("mode 2 is for another precision") !=
        std::string::npos);
  for (double const bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(ridge(bad), UsageError);
}

}  // namespace
}  // namespace polyad::test
