// SPDX-License-Identifier: BSD-3-Clause
// cp_als against the definitions, whatever the format: exact tensors are recovered, one iteration is the
// oracle's, the fit is the one that visiting every cell gives, and the run says why it stopped.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "fit/stop_rule.hpp"
#include "formats/registry.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/generate.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

constexpr auto go_on = [](CpAlsIteration const&) { return true; };

/// The random start as the oracle's model.
OracleModel random_start(std::vector<std::uint64_t> const& extents, std::size_t rank, std::uint64_t seed) {
  TestSpace const space;
  FactorMatrices<double, TestSpace> const factors(space, Extents(std::span<count_t const>(extents)), rank);
  fill_random(space, factors, seed);
  space.fence("polyad::test");
  return on_host(Ktensor<double, TestSpace>{std::vector<double>(rank, 1.0), factors});
}

CpAlsOptions options_of(std::size_t rank, int iterations, double tolerance = 0) {
  CpAlsOptions options;
  options.rank           = rank;
  options.max_iterations = iterations;
  options.tolerance      = tolerance;
  return options;
}

/// A run with coo-permuted.
template <class Scalar>
CpAlsResult<Scalar, TestSpace> factor(HostTensor const& tensor, CpAlsOptions const& options) {
  TestSpace const space;
  auto const X = CooPermuted<Scalar, std::uint32_t, TestSpace>::build(
      space, to_device<Scalar, std::uint32_t>(space, tensor));
  return cp_als(space, X, options, go_on);
}

/// The promised error of the fit at the end of a run.
template <class Scalar>
constexpr double promised = sizeof(Scalar) == 4 ? 1e-6 : 1e-12;

TEST_CASE("CP-ALS: the largest rank, and one above it", POLYAD_HOST_ONLY "[cp][figures]") {
  auto const tensor = distinct({"tiny", {2, 3, 2}, {0, 0, 0, 1, 1, 0, 0, 2, 1, 1, 0, 1}, {1, 2, 3, 4}});
  auto const result = factor<double>(tensor, options_of(4096, 2));
  CHECK(result.model.factors.rank() == 4096);
  CHECK(result.gram_fallbacks == 6);  // all are singular
  CHECK(result.fit > 1 - 1e-6);       // the model has more components than the tensor has cells
  CHECK_THROWS_AS(factor<double>(tensor, options_of(4097, 1)), UsageError);
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, tensor);
  CHECK_THROWS_AS(any_format(space, coo, {.rank = 4097}), UsageError);
}

TEST_CASE("CP-ALS: a matrix of rank 2, worked out by hand", "[cp]") {
  // X = 3 e0 f0' + 2 e1 f1': two components of weight 3 and 2.
  HostTensor const tensor{"diagonal", {3, 2}, {0, 0, 1, 1}, {3, 2}};
  auto const result = factor<double>(tensor, options_of(2, 200));
  CHECK(std::abs(result.fit - 1) < 1e-12);
  auto const model = on_host(result.model);
  for_each_cell(tensor.extents, [&](auto const& cell, std::size_t position) {
    double const expected = position == 0 ? 3 : position == 3 ? 2 : 0;
    CHECK(std::abs(model.at(cell) - expected) < 1e-6);
  });
}

template <class Scalar>
void expect_recovered(std::size_t order, std::size_t rank, double enough) {
  Random random(17 * order + rank);
  std::vector<std::uint64_t> const all{7, 6, 5, 4, 3, 3};
  std::vector<std::uint64_t> const extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
  OracleModel const truth(random_factors(random, extents, rank), std::vector<long double>(rank, 1.0L));
  auto const tensor = all_cells(truth);
  double best       = -1;
  for (std::uint64_t seed = 0; seed < 5 && best < enough; ++seed) {  // ALS may end in a local optimum
    auto options      = options_of(rank, 400, 1e-9);
    options.seed      = seed;
    auto const result = factor<Scalar>(tensor, options);
    best              = std::max(best, result.fit);
    CHECK(std::abs(result.fit - oracle_fit(scaled_to<Scalar>(tensor, 1), on_host(result.model))) <
          promised<Scalar>);
    CHECK(result.fit_error < promised<Scalar>);
  }
  CAPTURE(order, rank, sizeof(Scalar), best);
  CHECK(best > enough);
}

TEST_CASE("CP-ALS: the rank of an exact tensor is recovered, orders 2 to 6", "[cp]") {
  for (std::size_t order = 2; order <= 6; ++order) {
    expect_recovered<double>(order, 2, 1 - 1e-5);
    expect_recovered<float>(order, 2, 1 - 5e-3);
  }
  expect_recovered<double>(3, 3, 1 - 1e-4);
}

template <class Scalar>
void expect_planted_recovered(Extents const& extents, double enough) {
  TestSpace const space;
  auto const planted = planted_tensor<Scalar, std::uint32_t>(space, extents, 4, 3, 1);
  auto const X       = CooPermuted<Scalar, std::uint32_t, TestSpace>::build(space, planted.tensor);
  double best        = -1;
  for (std::uint64_t seed = 0; seed < 5 && best < enough; ++seed) {
    auto options = options_of(4, 200, 1e-10);
    options.seed = seed;
    best         = std::max(best, cp_als(space, X, options, go_on).fit);
  }
  CAPTURE(extents.order(), sizeof(Scalar));
  CHECK(best > enough);
}

TEST_CASE("CP-ALS: a planted tensor is recovered", "[cp]") {
  expect_planted_recovered<double>(Extents{40, 50, 60}, 1 - 1e-6);
  expect_planted_recovered<float>(Extents{40, 50, 60}, 1 - 2e-3);
  expect_planted_recovered<double>(Extents{20, 15, 30, 12}, 1 - 1e-6);
}

TEST_CASE("CP-ALS: one and three iterations are the oracle's, in every format", "[cp]") {
  TestSpace const space;
  for (std::size_t const order : {2, 3, 4, 5}) {
    std::size_t const rank = 3;
    std::vector<std::uint64_t> const all{19, 17, 7, 4, 3};
    Random random(order);
    auto const tensor =
        distinct(random_tensor(random, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order)}, 200));
    auto const coo = to_device<double, std::uint32_t>(space, tensor);
    auto oracle    = random_start(tensor.extents, rank, 7);
    std::vector<long double> fits;
    std::vector<OracleModel> models;
    for (int iteration = 0; iteration < 3; ++iteration) {
      oracle_als_iteration(tensor, oracle);
      fits.push_back(oracle_fit(tensor, oracle));
      models.push_back(oracle);
    }
    for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
      using F           = typename decltype(format)::type;
      F const X         = F::build(space, coo, {});
      auto options      = options_of(rank, 3);
      options.seed      = 7;
      auto const result = cp_als(space, X, options, go_on);
      CAPTURE(F::name, order);
      REQUIRE(result.history.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(result.history[i].fit - fits[i]) < 1e-10);
      // The model itself, cell by cell, since its components may be in another order.
      auto const model  = on_host(result.model);
      long double worst = 0;
      for (std::size_t p = 0; p < tensor.nnz(); ++p) {
        std::vector<std::uint64_t> cell;
        for (std::size_t n = 0; n < order; ++n) cell.push_back(tensor.index(p, n));
        worst = std::max(worst, std::abs(model.at(cell) - models[2].at(cell)));
      }
      CHECK(worst < 1e-9);
      CHECK(result.gram_fallbacks == 0);
    });
  }
}

template <class Scalar>
void expect_fit_of_every_cell(std::size_t order, std::size_t rank) {
  auto const tensor = distinct(small_tensor(Kind::shuffled, order));
  auto const result = factor<Scalar>(tensor, options_of(rank, 4));
  CAPTURE(order, rank, sizeof(Scalar), result.fit);
  auto const expected = oracle_fit(scaled_to<Scalar>(tensor, 1), on_host(result.model));
  CHECK(std::abs(result.fit - expected) < promised<Scalar>);
  CHECK(std::abs(result.history.back().fit - expected) < 10 * promised<Scalar>);
}

TEST_CASE("CP-ALS: the fit is the one that visiting every cell gives", "[cp]") {
  for (std::size_t const order : {2, 3, 4}) {
    for (std::size_t const rank : {1, 2, 5, 9}) {
      expect_fit_of_every_cell<double>(order, rank);
      expect_fit_of_every_cell<float>(order, rank);
    }
  }
}

TEST_CASE("CP-ALS: the result is in canonical form", "[cp]") {
  auto const tensor = distinct(small_tensor(Kind::shuffled, 4));
  auto const result = factor<double>(tensor, options_of(6, 5));
  auto const model  = on_host(result.model);
  for (std::size_t r = 0; r < 6; ++r) {
    CHECK(model.weights[r] > 0);
    if (r > 0) CHECK(model.weights[r - 1] >= model.weights[r]);
    for (std::size_t n = 0; n < 4; ++n) {
      long double square = 0, extreme = 0;
      for (std::size_t i = 0; i < tensor.extents[n]; ++i) {
        long double const entry = model.factors[n][i * 6 + r];
        square += entry * entry;
        if (std::abs(entry) > std::abs(extreme)) extreme = entry;
      }
      CHECK(std::abs(square - 1) < 1e-12L);
      if (n < 3) CHECK(extreme > 0);
    }
  }
}

TEST_CASE("CP-ALS: every iteration is reported, and the fit does not fall", "[cp]") {
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));
  TestSpace const space;
  auto const X = CooPermuted<double, std::uint32_t, TestSpace>::build(
      space, to_device<double, std::uint32_t>(space, tensor));
  auto options        = options_of(4, 12);
  options.time_phases = true;
  std::vector<CpAlsIteration> seen;
  auto const result = cp_als(space, X, options, [&](CpAlsIteration const& iteration) {
    seen.push_back(iteration);
    return true;
  });
  REQUIRE(seen.size() == 12);
  REQUIRE(result.history.size() == 12);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    double const previous = i == 0 ? 0 : seen[i - 1].fit;
    CHECK(seen[i].iteration == static_cast<int>(i + 1));
    CHECK(seen[i].fit == result.history[i].fit);
    CHECK(seen[i].delta == seen[i].fit - previous);
    if (i > 0) CHECK(seen[i].fit >= previous - 1e-12);  // each update minimises
    CHECK(seen[i].seconds > 0);
    double sum = 0;
    for (char const* const phase : {"normal_equations", "mttkrp", "update", "fit"})
      sum += seen[i].phases.at(phase);
    CHECK(sum <= seen[i].seconds);
    CHECK(seen[i].phases.size() == 4);
  }
  CHECK(factor<double>(tensor, options_of(4, 1)).history[0].phases.empty());
}

TEST_CASE("CP-ALS: it says why it stopped", "[cp]") {
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));
  TestSpace const space;
  auto const X = CooPermuted<double, std::uint32_t, TestSpace>::build(
      space, to_device<double, std::uint32_t>(space, tensor));

  auto result = cp_als(space, X, options_of(2, 3), go_on);
  CHECK(result.reason == StopReason::max_iterations);
  CHECK(result.history.size() == 3);

  result = cp_als(space, X, options_of(2, 1000, 1e-3), go_on);
  CHECK(result.reason == StopReason::converged);
  CHECK(result.history.size() >= 2);
  CHECK(result.history.size() < 1000);
  CHECK(std::abs(result.history.back().delta) <= negligible_change(result.history.back().fit, 1e-3));

  result = cp_als(space, X, options_of(2, 1000), [](CpAlsIteration const& i) { return i.iteration < 4; });
  CHECK(result.reason == StopReason::interrupted);
  CHECK(result.history.size() == 4);
  CHECK(result.model.weights.size() == 2);
  CHECK(result.model.weights[0] > 0);  // what was reached is there, for a checkpoint

  auto options         = options_of(2, 1000000);
  options.time_limit_s = 0.05;
  result               = cp_als(space, X, options, [](CpAlsIteration const&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  });
  CHECK(result.reason == StopReason::time_limit);
  CHECK(result.history.size() <= 3);

  CHECK(std::string(to_string(StopReason::converged)) == "converged");
  CHECK(std::string(to_string(StopReason::max_iterations)) == "iteration limit");
  CHECK(std::string(to_string(StopReason::time_limit)) == "time limit");
  CHECK(std::string(to_string(StopReason::interrupted)) == "interrupted");
  CHECK(std::string(to_string(StopReason::stalled)) == "stalled");
  CHECK(std::string(to_string(StopReason::rounding)) == "rounding hides the change");
}

TEST_CASE("CP-ALS: a run whose updates were never regular does not say that it converged", "[cp]") {
  // Two rows hold no four independent columns.
  HostTensor const tensor{"diagonal", {3, 2}, {0, 0, 1, 1}, {3, 2}};
  auto result = factor<double>(tensor, options_of(4, 100, 1e-4));
  CHECK(result.history.size() < 100);
  CHECK(result.gram_fallbacks == 2 * result.history.size());
  CHECK(result.reason == StopReason::stalled);
  CHECK(result.defect == ModelDefect::never_regular);
  CHECK(std::string(to_string(result.defect)) == "every update took the pseudo-inverse");
  // Runs that end for other reasons report it as well; one regular update is enough.
  result = factor<double>(tensor, options_of(4, 1));
  CHECK(result.reason == StopReason::max_iterations);
  CHECK(result.defect == ModelDefect::never_regular);
  result = factor<double>(tensor, options_of(2, 100, 1e-4));
  CHECK(result.reason == StopReason::converged);
  CHECK(result.defect == ModelDefect::none);
  CHECK(std::string(to_string(result.defect)) == "");
}

void expect_error_before_iterating(HostTensor const& tensor) {
  int calls = 0;
  TestSpace const space;
  auto const X = CooPermuted<double, std::uint32_t, TestSpace>::build(
      space, to_device<double, std::uint32_t>(space, tensor));
  CHECK_THROWS_AS(cp_als(space, X, options_of(2, 10), [&](CpAlsIteration const&) { return ++calls > 0; }),
                  NumericalError);
  CHECK(calls == 0);
}

TEST_CASE("CP-ALS: a value that is not a number is an error, and nothing is returned", "[cp]") {
  for (double const value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto tensor        = distinct(small_tensor(Kind::shuffled, 3));
    tensor.values[100] = value;
    expect_error_before_iterating(tensor);
  }
}

TEST_CASE("CP-ALS: values whose products overflow are an error too", "[cp]") {
  // ||X||^2 is finite in double, but the sums of the update are not in float.
  auto tensor = distinct(small_tensor(Kind::shuffled, 3));
  for (double& value : tensor.values) value *= 0x1p126;
  CHECK_THROWS_AS(factor<float>(tensor, options_of(2, 10)), NumericalError);
}

TEST_CASE("CP-ALS: a norm beyond the range of doubles is an error before the first iteration", "[cp]") {
  auto tensor = distinct(small_tensor(Kind::shuffled, 3));
  for (double& value : tensor.values) value = 1.5e308;
  expect_error_before_iterating(tensor);
}

TEST_CASE("CP-ALS: more components than the tensor has", "[cp]") {
  Random random(3);
  OracleModel const truth(random_factors(random, {4, 3, 2}, 1), {1.0L});
  auto const tensor = all_cells(truth);
  auto const result = factor<double>(tensor, options_of(8, 30));
  CHECK(result.gram_fallbacks > 0);
  CHECK(std::isfinite(result.fit));
  CHECK(result.fit > 1 - 1e-5);
  for (double const weight : result.model.weights) CHECK(std::isfinite(weight));
  CHECK(std::abs(result.fit - oracle_fit(tensor, on_host(result.model))) < promised<double>);
}

TEST_CASE("CP-ALS: a rank far beyond every mode", "[cp]") {
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));
  for (std::size_t const rank : {31, 64, 130}) {
    auto const result = factor<double>(tensor, options_of(rank, 3));
    CAPTURE(rank, result.fit);
    CHECK(std::abs(result.fit - oracle_fit(tensor, on_host(result.model))) < promised<double>);
  }
}

enum class Start { collinear, zero_column, equal, far_apart };

/// A start whose Gram matrices are singular, or nearly.
template <class Scalar>
FactorMatrices<Scalar, TestSpace> awkward_start(HostTensor const& tensor, std::size_t rank, Start kind) {
  Random random(7);
  auto host = random_factors(random, tensor.extents, rank);
  for (auto& matrix : host)
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      if (kind == Start::collinear) matrix(i, 2) = -3 * matrix(i, 0);
      if (kind == Start::zero_column) matrix(i, 1) = 0;
      if (kind == Start::far_apart) matrix(i, 1) = matrix(i, 0) + 1e-5 * matrix(i, 1);
      for (std::size_t r = 0; r < rank && kind == Start::equal; ++r) matrix(i, r) = 0.5;
    }
  return to_device<Scalar>(TestSpace(), host);
}

template <class F>
void expect_steady_fit(HostTensor const& tensor, std::size_t rank, Start kind) {
  using Scalar = typename F::scalar_type;
  TestSpace const space;
  auto const X = F::build(space, to_device<Scalar, std::uint32_t>(space, tensor), {});
  auto const result =
      cp_als(space, X, options_of(rank, 15), awkward_start<Scalar>(tensor, rank, kind), go_on);
  double previous = 0;
  for (auto const& iteration : result.history) {
    CAPTURE(F::name, sizeof(Scalar), rank, static_cast<int>(kind), iteration.iteration, previous);
    // The model's error is a sum over the nonzeros; the fit a root of it.
    double const rounding = sizeof(Scalar) == sizeof(double) ? 1e-9 : 2e-3;
    CHECK(iteration.fit >= previous - rounding);
    previous = iteration.fit;
  }
  if (kind != Start::far_apart) CHECK(result.gram_fallbacks > 0);
  auto const model = on_host(result.model);
  CHECK(std::abs(result.fit - oracle_fit(scaled_to<Scalar>(tensor, 1), model)) < promised<Scalar>);
  for (auto const& matrix : model.factors)
    for (auto const entry : matrix) REQUIRE(std::isfinite(entry));
}

TEST_CASE("CP-ALS: from a start with singular Gram matrices the fit does not fall", "[cp]") {
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));  // 29 x 23 x 17
  for (Start const kind : {Start::collinear, Start::zero_column, Start::equal, Start::far_apart})
    for (std::size_t const rank : {3, 8, 40}) {
      expect_steady_fit<Sorted<double, std::uint32_t, TestSpace>>(tensor, rank, kind);
      expect_steady_fit<Sorted<float, std::uint32_t, TestSpace>>(tensor, rank, kind);
      expect_steady_fit<CooPermuted<double, std::uint32_t, TestSpace>>(tensor, rank, kind);
    }
}

TEST_CASE("CP-ALS: a tensor of zeros, or an empty one, has no fit", "[cp]") {
  for (std::size_t const order : {2, 3, 5}) {
    auto zeros = distinct(small_tensor(Kind::shuffled, order));
    std::ranges::fill(zeros.values, 0.0);
    for (auto const& tensor : {small_tensor(Kind::empty, order), zeros})
      for (int const iterations : {0, 4})
        CHECK_THROWS_AS(factor<double>(tensor, options_of(3, iterations, 1e-4)), NumericalError);
  }
}

TEST_CASE("CP-ALS: every kind of tensor gives finite numbers", "[cp]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {2, 3, 6}) {
      if (kind == Kind::empty) continue;
      auto const tensor = distinct(small_tensor(kind, order));
      auto const result = factor<double>(tensor, options_of(5, 5));
      CAPTURE(tensor.name, result.fit);
      auto const model   = on_host(result.model);
      double const error = cells_of(tensor.extents) > most_cells ? 1e-8 : promised<double>;
      CHECK(std::abs(result.fit - oracle_fit(tensor, model)) < error);
      for (auto const& matrix : model.factors)
        for (auto const entry : matrix) REQUIRE(std::isfinite(entry));
    }
}

template <class Scalar>
void expect_restored_to_the_bit() {
  TestSpace const space;
  Random random(5);
  std::vector<std::uint64_t> const extents{9, 7, 8};
  auto const tensor =
      all_cells(OracleModel(random_factors(random, extents, 5), std::vector<long double>(5, 1.0L)));
  using F = Sorted<Scalar, std::uint32_t, TestSpace>;
  typename F::options_type in_fixed_order;
  in_fixed_order.deterministic = true;
  auto const X       = F::build(space, to_device<Scalar, std::uint32_t>(space, tensor), in_fixed_order);
  auto const options = options_of(3, 9);
  auto const start   = [&](std::uint64_t seed) {
    FactorMatrices<Scalar, TestSpace> const factors(space, X.extents(), options.rank);
    fill_random(space, factors, seed);
    return factors;
  };
  TemporaryFolder const folder;
  auto part           = options;
  part.max_iterations = 4;
  part.checkpoint     = folder / "part";
  static_cast<void>(cp_als(space, X, part, start(1)));
  auto rest    = options;
  rest.resume  = part.checkpoint;
  auto const a = cp_als(space, X, options, start(1)),
             b = cp_als(space, X, rest, start(2));  // whose start goes
  CHECK(a.model.weights == b.model.weights);
  CHECK(a.fit == b.fit);
  CHECK(a.gram_fallbacks == b.gram_fallbacks);
  for (int n = 0; n < 3; ++n) CHECK(flat(a.model.factors[n]) == flat(b.model.factors[n]));
  REQUIRE(b.history.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(b.history[k].iteration == static_cast<int>(k) + 5);
    CHECK(b.history[k].fit == a.history[k + 4].fit);
    CHECK(b.history[k].delta == a.history[k + 4].delta);
  }
}

TEST_CASE("CP-ALS: a run continues from its checkpoint to the same bits", "[cp]") {
  expect_restored_to_the_bit<double>();
  expect_restored_to_the_bit<float>();
}

TEST_CASE("CP-ALS: a start whose rows have any stride gives the same bits", "[cp]") {
  TestSpace const space;
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));
  Random random(5);
  for (std::size_t const rank : {1, 2, 5}) {
    auto const start = random_factors(random, tensor.extents, rank);
    auto const fit   = [&](RowLayout layout) {
      auto const X = Sorted<double, std::uint32_t, TestSpace>::build(
          space, to_device<double, std::uint32_t>(space, tensor), {.deterministic = true});
      return cp_als(space, X, options_of(static_cast<count_t>(rank), 3),
                    to_device<double>(space, start, layout), go_on)
          .fit;
    };
    for (RowLayout const layout : all_layouts) {
      CAPTURE(rank, static_cast<int>(layout));
      CHECK(fit(layout) == fit(RowLayout::padded));
    }
  }
}

TEST_CASE("CP-ALS: a given start is used as it is", "[cp]") {
  TestSpace const space;
  auto const tensor = distinct(small_tensor(Kind::shuffled, 3));
  auto const X      = CooPermuted<double, std::uint32_t, TestSpace>::build(
      space, to_device<double, std::uint32_t>(space, tensor));
  Extents const extents = X.extents();
  FactorMatrices<double, TestSpace> const start(space, extents, 3);
  fill_random(space, start, 11);
  auto const given = cp_als(space, X, options_of(3, 2), start, go_on);
  auto options     = options_of(3, 2);
  options.seed     = 11;
  auto const own   = cp_als(space, X, options, go_on);
  CHECK(std::abs(given.fit - own.fit) < 1e-12);
  auto const other = cp_als(space, X, options_of(3, 2), go_on);  // seed 0
  CHECK(std::abs(given.fit - other.fit) > 1e-9);
}

TEST_CASE("CP-ALS: the canonical form of the result fits where an iteration did", "[cp]") {
  TestSpace const space;
  Random random(67);
  using F      = CooPermuted<double, std::uint32_t, TestSpace>;
  auto const X = F::build(
      space, to_device<double, std::uint32_t>(space, distinct(random_tensor(random, {20, 20000, 30}, 5000))));
  FactorMatrices<double, TestSpace> const start(space, X.extents(), 16);
  fill_random(space, start, 0);
  DeviceMemoryAccount const account;
  if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
  count_t during = 0;
  static_cast<void>(cp_als(space, X, options_of(16, 1), start, [&](CpAlsIteration const&) {
    during = account.in_use();
    return true;
  }));
  // A copy of the longest factor takes 2.5 MB. There are also small arrays, which an account has room for.
  CHECK(account.peak() <= during + 65536);
}

TEST_CASE("CP-ALS: a rank that is not stated is that of the start, or that of the format", "[cp]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, distinct(small_tensor(Kind::shuffled, 3)));
  auto const X   = any_format(space, coo, {.rank = 5});
  CpAlsOptions options;
  options.max_iterations = 1;
  CHECK(cp_als(space, X, options).model.factors.rank() == 5);
  FactorMatrices<double, TestSpace> const start(space, coo.extents(), 3);
  fill_random(space, start, 0);
  CHECK(cp_als(space, X, options, start).model.factors.rank() == 3);
  options.restarts = 2;
  CHECK(cp_als(space, X, options).model.factors.rank() == 5);
  options.restarts = 1;
  options.rank     = 2;
  CHECK(cp_als(space, X, options).model.factors.rank() == 2);
  CHECK(cp_als(space, coo, options).model.factors.rank() == 2);
}

TEST_CASE("CP-ALS: what does not match is refused", "[cp]") {
  TestSpace const space;
  auto const build = [&](std::size_t order) {
    return CooPermuted<double, std::uint32_t, TestSpace>::build(
        space, to_device<double, std::uint32_t>(space, distinct(small_tensor(Kind::shuffled, order))));
  };
  auto const X = build(3);
  CHECK_THROWS_AS(cp_als(space, build(1), options_of(2, 3), go_on), UsageError);
  CHECK_THROWS_AS(cp_als(space, X, options_of(0, 3), go_on), UsageError);
  CHECK_THROWS_AS(cp_als(space, X, options_of(largest_rank + 1, 3), go_on), UsageError);
  CHECK_THROWS_AS(cp_als(space, X, options_of(std::size_t(1) << 40, 3), go_on), UsageError);
  FactorMatrices<double, TestSpace> const start(space, X.extents(), 3);
  CHECK_THROWS_AS(cp_als(space, X, options_of(2, 3), start, go_on), UsageError);
  FactorMatrices<double, TestSpace> const short_start(space, Extents{29, 23, 16}, 3);
  CHECK_THROWS_AS(cp_als(space, X, options_of(3, 3), short_start, go_on), UsageError);
}

}  // namespace
}  // namespace polyad::test
