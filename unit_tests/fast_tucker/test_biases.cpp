// SPDX-License-Identifier: BSD-3-Clause
// The mean and the biases: each minimises, given the others.
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>

#include "fast_tucker/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/instances.hpp"

namespace polyad::test {
namespace {

FastTuckerModel<double, TestSpace> biased_model(TestSpace const& space, HostTensor const& X) {
  std::vector<count_t> const J(X.order(), 1);
  return {space, Extents(std::span<count_t const>(X.extents)), J, 1, true};
}

TEST_CASE("biases are damped averages of what the others leave", "[fast_tucker]") {
  TestSpace const space;
  for (Kind const kind : {Kind::shuffled, Kind::duplicates, Kind::hypersparse, Kind::one_long_slice}) {
    auto const X   = small_tensor(kind, 3);
    auto const coo = to_device<double, std::uint32_t>(space, X);
    auto model     = biased_model(space, X);
    fit_biases(space, coo, {.sweeps = 3, .damping = 2}, model);
    long double mean = 0;
    for (double const x : X.values) mean += x;
    mean /= static_cast<long double>(X.nnz());
    // Values of magnitude 2 at most are summed in steps of 2^-40 or finer.
    constexpr long double tolerance = 1e-10L;
    CHECK(std::abs(model.mean - mean) <= tolerance);
    std::vector<std::vector<double>> bias;
    for (int n = 0; n < 3; ++n) bias.push_back(flat(model.bias(n)));
    // The last mode was fitted last.
    std::vector<long double> sum(X.extents[2]);
    std::vector<std::size_t> count(X.extents[2]);
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      sum[X.index(p, 2)] += X.values[p] - model.mean - bias[0][X.index(p, 0)] - bias[1][X.index(p, 1)];
      ++count[X.index(p, 2)];
    }
    for (std::size_t k = 0; k < sum.size(); ++k)
      REQUIRE(std::abs(bias[2][k] - sum[k] / (2 + static_cast<long double>(count[k]))) <= tolerance);

    auto const rest = flat(without_biases(space, coo, model).values());
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      long double left = X.values[p] - model.mean;
      for (std::size_t n = 0; n < 3; ++n) left -= bias[n][X.index(p, n)];
      REQUIRE(std::abs(rest[p] - left) <= tolerance);
    }
  }
}

TEST_CASE("a mean without biases is subtracted before the factors are fitted", "[fast_tucker]") {
  TestSpace const space;
  auto const X   = small_tensor(Kind::shuffled, 3, [](Random&) { return 7.0; });
  auto const coo = to_device<double, std::uint32_t>(space, X);
  std::vector<count_t> const J(3, 2);
  FastTuckerModel<double, TestSpace> start(space, coo.extents(), J, 2, false);
  CHECK(without_biases(space, coo, start).values().data() == coo.values().data());
  start.mean = 5;
  for (double const x : flat(without_biases(space, coo, start).values())) REQUIRE(x == 2);
  fill_start(space, start, 2, 0);
  auto const result = fast_tucker(space, coo, {.max_epochs = 10, .shrinkage = Shrinkage{0, 0}}, start);
  CHECK(result.model.mean == 5);
  CHECK(errors(space, result.model, coo).rmse < 0.05);
}

TEST_CASE("biases have the same bits for any number of threads", "[fast_tucker]") {
  auto const X = small_tensor(Kind::shuffled, 4);
  std::vector<double> first;
  for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
    auto model = biased_model(TestSpace(), X);
    fit_biases(space, to_device<double, std::uint32_t>(TestSpace(), X), {}, model);
    auto const bias = flat(model.bias(0));
    if (first.empty()) first = bias;
    CHECK(bias == first);
  }
}

TEST_CASE("biases of nothing, and of what is not a number, are refused", "[fast_tucker]") {
  TestSpace const space;
  auto X     = small_tensor(Kind::empty, 3);
  auto model = biased_model(space, X);
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), UsageError);
  X            = small_tensor(Kind::shuffled, 3);
  X.values[17] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), NumericalError);
  X.values[17] = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), NumericalError);
}

}  // namespace
}  // namespace polyad::test
