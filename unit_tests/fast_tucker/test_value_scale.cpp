// SPDX-License-Identifier: BSD-3-Clause
// Values far from one: the fit is that of the same values near one, on their own scale.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

/// Ratings with biases, an interaction of users and items, and a little noise, times a factor.
HostTensor ratings_times(double factor, std::size_t nnz, std::uint64_t seed) {
  Random taste(1), random(seed);
  std::vector<std::uint64_t> const extents{80, 60, 6};
  HostMatrix const users = random_matrix(taste, 80, 3), items = random_matrix(taste, 60, 3);
  HostTensor X = random_tensor(random, extents, nnz);
  for (std::size_t p = 0; p < nnz; ++p) {
    std::uint64_t const i = X.index(p, 0), j = X.index(p, 1);
    X.values[p] = factor * (1 + users(i, 0) + items(j, 0) + users(i, 1) * items(j, 1) +
                            users(i, 2) * items(j, 2) + 0.1 * random_number(random));
  }
  return X;
}

TEST_CASE("only values far from one have a scale, and only where rows are shrunk", "[fast_tucker]") {
  TestSpace const space;
  auto const scale = [&](double value, FastTuckerOptions const& options = {}) {
    auto X      = small_tensor(Kind::shuffled, 3);
    X.values[5] = value;
    for (std::size_t p = 0; p < X.nnz(); ++p)
      if (p != 5) X.values[p] = 0;
    return value_scale(space, to_device<double, std::uint32_t>(space, X), options);
  };
  CHECK(scale(1) == 1);
  CHECK(scale(-1e9) == 1);
  CHECK(scale(2e-9) == 1);
  CHECK(scale(0x1.9p-30) == 0x1p30);
  CHECK(scale(-0x1.8p30) == 0x1p-30);
  CHECK(scale(1e30) == std::ldexp(1.0, -99));
  CHECK(scale(1e-30) == std::ldexp(1.0, 100));
  CHECK(scale(1e305) == std::ldexp(1.0, -1000));
  CHECK(scale(0) == 1);
  CHECK(scale(std::numeric_limits<double>::quiet_NaN()) == 1);
  CHECK(scale(1e30, {.ridge = 1}) == 1);
  CHECK(scale(1e30, {.optimizer = FastTuckerOptimizer::adam}) == 1);
}

TEST_CASE("scaled models predict their predictions times a power of two", "[fast_tucker]") {
  TestSpace const space;
  Random random(3);
  auto const host = random_model(random, {20, 10, 6}, 2, 3, true);
  auto const X    = to_device<double, std::uint32_t>(space, random_tensor(random, {20, 10, 6}, 50));
  for (double const factor : {0x1p100, 0x1p-101}) {
    auto model  = to_device<double>(space, host);
    model.range = {-1, 1.5};
    fit_biases(space, X, {.time_mode = 2, .drift = {{3, 1}, {}, {}}}, model);
    auto const before = flat(predict(space, model, X)), kept = flat(model.A(1));
    scale_predictions(space, factor, model,
                      std::vector{RowTarget::zero, RowTarget::left_out, RowTarget::zero});
    auto const after = flat(predict(space, model, X));
    for (std::size_t p = 0; p < 50; ++p) REQUIRE(after[p] == factor * before[p]);
    CHECK(flat(model.A(1)) == kept);
    CHECK(model.range.highest == 1.5 * factor);
  }
  auto model = to_device<double>(space, host);
  CHECK_THROWS_AS(scale_predictions(space, 3.0, model), UsageError);
  CHECK_THROWS_AS(scale_predictions(space, 0.0, model), UsageError);
  CHECK_THROWS_AS(scale_predictions(space, 2.0, model, std::vector{RowTarget::zero}), UsageError);
}

template <class Scalar>
FastTuckerResult<Scalar, TestSpace> fit_times(double factor, FastTuckerOptions options, bool clips = false) {
  TestSpace const space;
  if (clips) options.range = {-2 * factor, 3 * factor};
  FastTuckerData<Scalar, std::uint32_t, TestSpace> const data{
      to_device<Scalar, std::uint32_t>(space, ratings_times(factor, 4000, 2)),
      {},
      to_device<Scalar, std::uint32_t>(space, ratings_times(factor, 1000, 3))};
  std::vector<double> called;
  auto result = fast_tucker(space, data, options, FastTuckerCallback([&](FastTuckerEpoch const& epoch) {
                              called.push_back(epoch.test.rmse);
                              return true;
                            }));
  // The epochs' errors are those of the values as they came, and so is the model.
  REQUIRE(called.size() == result.history.size());
  REQUIRE(!called.empty());
  for (std::size_t i = 0; i < called.size(); ++i) CHECK(called[i] == result.history[i].test.rmse);
  double const test = errors(space, result.model, data.test).rmse;
  CHECK(std::abs(test / called.back() - 1) < (sizeof(Scalar) == 4 ? 1e-4 : 1e-9));
  if (clips) CHECK(result.model.range.highest == options.range.highest);
  return result;
}

template <class Scalar>
void expect_same_at_every_scale(double tolerance) {
  FastTuckerOptions options;
  options.rank       = 3;
  options.max_epochs = 6;
  options.shrinkage  = Shrinkage{.observations = 3};
  auto const last    = [&](double factor, bool clips) {
    return fit_times<Scalar>(factor, options, clips).history.back().test.rmse / factor;
  };
  double const plain = last(1, false), clipped = last(1, true);
  CHECK(plain < 0.8);  // the interaction has a deviation of 2.5
  for (double const factor : {0x1p100, 0x1p-100}) {
    CAPTURE(factor);
    CHECK(std::abs(last(factor, false) / plain - 1) < tolerance);
    CHECK(std::abs(last(factor, true) / clipped - 1) < tolerance);
  }
}

TEST_CASE("values far from one are completed as those near one", "[fast_tucker]") {
  expect_same_at_every_scale<double>(1e-6);
  expect_same_at_every_scale<float>(5e-3);
}

TEST_CASE("what held-out entries choose does not depend on the scale of values", "[fast_tucker]") {
  auto const plain = fit_times<float>(1, {});
  REQUIRE(plain.choice);
  CHECK(plain.choice->learns);
  for (double const factor : {0x1p100, 0x1p-100}) {
    auto const result = fit_times<float>(factor, {});
    CAPTURE(factor);
    REQUIRE(result.choice);
    CHECK(result.choice->learns);
    CHECK(result.choice->options.targets == plain.choice->options.targets);
    // Which entries of a repeated place are held out depends on the bits of their values.
    CHECK(std::abs(result.choice->biases.rmse / factor / plain.choice->biases.rmse - 1) < 2e-3);
    CHECK(result.choice->model.rmse / factor < 1.05 * plain.choice->model.rmse);
    CHECK(result.history.back().test.rmse / factor < 1.05 * plain.history.back().test.rmse);
  }
}

TEST_CASE("a start's mean and biases stay where values are scaled for the fit", "[fast_tucker]") {
  TestSpace const space;
  auto const train = to_device<double, std::uint32_t>(space, ratings_times(1e30, 4000, 2));
  FastTuckerModel<double, TestSpace> start(space, train.extents(), std::vector<count_t>{3, 3, 3}, 3, true);
  fit_biases(space, train, {.time_mode = 2}, start);
  fill_start(space, start, 1e30, 0);
  auto const bias = flat(start.bias(0)), drift = flat(start.drift(1)), first = flat(start.A(0));
  double const mean = start.mean;
  FastTuckerOptions const options{.max_epochs = 5, .shrinkage = Shrinkage{.observations = 3}};
  auto const result = fast_tucker(space, train, options, start);
  CHECK(start.mean == mean);
  CHECK(flat(start.bias(0)) == bias);
  CHECK(flat(start.drift(1)) == drift);
  CHECK(result.model.mean == mean);
  CHECK(result.model.bias(0).data() == start.bias(0).data());
  CHECK(flat(start.A(0)) == first);  // it was not handed over
  double const rmse = errors(space, result.model, train).rmse;
  CHECK(rmse < 0.8e30);
  auto const A    = start.A(0);
  auto const over = fast_tucker(space, train, options, std::move(start));
  CHECK(over.model.A(0).data() == A.data());
  CHECK(flat(A) != first);
  CHECK(over.model.mean == mean);
  CHECK(std::abs(errors(space, over.model, train).rmse / rmse - 1) < 1e-9);
}

}  // namespace
}  // namespace polyad::test
