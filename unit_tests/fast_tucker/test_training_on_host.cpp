// SPDX-License-Identifier: BSD-3-Clause
// A training set in host memory: the run is that of the same set on the device. It keeps to a limit of the
// device's memory that the run in memory exceeds.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <vector>

#include "fast_tucker/planted.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
using Data = FastTuckerData<Scalar, std::uint32_t, TestSpace>;

/// Users, items and months, with biases, an interaction of rank 2 and noise.
HostTensor many_ratings(std::size_t nnz, std::uint64_t seed, double factor = 1) {
  Random taste(1), random(seed);
  HostMatrix const users = random_matrix(taste, 150, 3), items = random_matrix(taste, 90, 3);
  HostTensor X = random_tensor(random, {150, 90, 8}, nnz);
  for (std::size_t p = 0; p < nnz; ++p) {
    std::uint64_t const i = X.index(p, 0), j = X.index(p, 1);
    X.values[p] = factor * (3 + users(i, 0) + items(j, 0) + users(i, 1) * items(j, 1) +
                            users(i, 2) * items(j, 2) + random_number(random));
  }
  return X;
}

template <class Scalar>
CooTensor<Scalar, std::uint32_t, HostOf<TestSpace>> on_host(HostTensor const& X) {
  std::vector<std::uint32_t> const indices(X.indices.begin(), X.indices.end());
  return upload<Scalar, std::uint32_t>(HostOf<TestSpace>(), Extents(std::span<count_t const>(X.extents)),
                                       std::span<std::uint32_t const>(indices),
                                       std::span<double const>(X.values));
}

/// To the bit on hosts. A device sums the norm of the values, by which a start is scaled, in another order.
void expect_equal(double a, double b) {
  if (is_device_space<TestSpace>)
    CHECK(std::abs(a - b) <= 1e-4 * std::abs(b));
  else
    CHECK(a == b);
}
void expect_equal(PredictionErrors const& a, PredictionErrors const& b) {
  CHECK(a.entries == b.entries);
  expect_equal(a.rmse, b.rmse);
  expect_equal(a.mae, b.mae);
}

// A device's partial sums, and the memory that Kokkos gives its instances, take more.
constexpr std::size_t times      = is_device_space<TestSpace> ? 10 : 1;
constexpr count_t more_on_device = is_device_space<TestSpace> ? 16000000 : 0;

template <class Scalar>
void expect_same_run(HostTensor const& X, FastTuckerOptions const& options,
                     std::vector<count_t> const& limits) {
  TestSpace const space;
  auto const other = to_device<Scalar, std::uint32_t>(space, many_ratings(500, 7));
  AnyFormatOptions in_memory;
  in_memory.format = "sorted";
  Data<Scalar> data;
  data.train       = to_device<Scalar, std::uint32_t>(space, X);
  data.test        = other;
  auto const want  = fast_tucker(space, data, options, {}, in_memory);
  data.train       = {};
  data.test        = {};
  auto const train = on_host<Scalar>(X);
  for (count_t const of_host : limits) {
    count_t const limit = of_host + more_on_device;
    CAPTURE(limit, sizeof(Scalar));
    DeviceMemoryAccount const account(limit);
    if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
    Data<Scalar> streamed;
    {
      DeviceMemoryAccount::HostArrays const arrays;
      streamed.train_on_host = train;
    }
    streamed.test   = other;
    auto const have = fast_tucker(space, streamed, options);
    CHECK(account.peak() <= limit);
    CHECK(have.format.chosen == (want.format.chosen.empty() ? "" : "streamed-sorted"));
    expect_equal(have.biases.train, want.biases.train);
    expect_equal(have.biases.test, want.biases.test);
    REQUIRE(have.choice.has_value() == want.choice.has_value());
    if (want.choice) {
      CHECK(have.choice->learns == want.choice->learns);
      CHECK(have.choice->options.rank == want.choice->options.rank);
      CHECK(have.choice->options.targets == want.choice->options.targets);
      CHECK(have.choice->candidates == want.choice->candidates);
      expect_equal(have.choice->model, want.choice->model);
      expect_equal(have.choice->biases, want.choice->biases);
    }
    REQUIRE(have.history.size() == want.history.size());
    for (std::size_t k = 0; k < want.history.size(); ++k) {
      expect_equal(have.history[k].train, want.history[k].train);
      expect_equal(have.history[k].test, want.history[k].test);
    }
    if constexpr (!is_device_space<TestSpace>) {
      for (int n = 0; n < 3; ++n) {
        CHECK(flat(have.model.A(n)) == flat(want.model.A(n)));
        CHECK(flat(have.model.bias(n)) == flat(want.model.bias(n)));
      }
    }
  }
}

TEST_CASE("a training set in host memory is fitted as one on the device", "[fast_tucker]") {
  FastTuckerOptions options;
  options.rank       = 4;
  options.max_epochs = 3;
  options.shrinkage  = Shrinkage{.observations = 3};
  // 6,000 entries of 16 and 20 bytes: stretches of a tenth and more.
  expect_same_run<float>(many_ratings(times * 6000, 2), options, {480000, 600000, 4000000});
  expect_same_run<double>(many_ratings(6000, 2, 0x1p70), options, {600000});
  options.targets        = {RowTarget::zero, RowTarget::zero, RowTarget::one};
  options.bias.time_mode = 2;
  options.bias.drift     = {{4, 30}, {2, 30}, {}};
  expect_same_run<double>(many_ratings(6000, 3), options, {600000});
}

TEST_CASE("and what is left open is chosen alike", "[fast_tucker]") {
  FastTuckerOptions options;
  options.rank           = 4;
  options.bias.time_mode = 2;
  expect_same_run<float>(many_ratings(times * 4000, 2), options, {1000000});
  // Nothing but noise: mean and biases are the model.
  options.bias.time_mode = -1;
  Random random(4);
  auto noise = many_ratings(3000, 2);
  for (double& x : noise.values) x = 3 + random_number(random);
  expect_same_run<double>(noise, options, {1200000});
}

TEST_CASE("a rank that does not fit the memory is not a candidate", POLYAD_HOST_ONLY "[fast_tucker]") {
  TestSpace const space;
  Data<float> data;
  data.train_on_host = on_host<float>(many_ratings(4000, 2));
  for (count_t const limit : {1500000, 30000000}) {
    DeviceMemoryAccount const account(limit);
    if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
    auto const result = fast_tucker(space, data, FastTuckerOptions{});
    REQUIRE(result.choice);
    CHECK(result.choice->learns);
    CHECK(result.choice->options.rank >= 8);
    CHECK((account.peak() > 1500000) == (limit > 1500000));  // where it fits it is tried
  }
}

TEST_CASE("with fewer columns than the rank the cores take their steps by stretches", "[fast_tucker]") {
  TestSpace const space;
  FastTuckerOptions options;
  options.rank       = 5;
  options.columns    = {3};
  options.max_epochs = 2;
  for (auto const optimizer : {FastTuckerOptimizer::als, FastTuckerOptimizer::adam}) {
    options.optimizer = optimizer;
    if (optimizer == FastTuckerOptimizer::als) options.shrinkage = Shrinkage{};
    if (optimizer == FastTuckerOptimizer::adam) options.shrinkage = {};
    auto const X = many_ratings(5000, 2);
    Data<double> data, streamed;
    data.train             = to_device<double, std::uint32_t>(space, X);
    streamed.train_on_host = on_host<double>(X);
    auto const want        = fast_tucker(space, data, options).history,
               have        = fast_tucker(space, streamed, options).history;
    REQUIRE(have.size() == 2);
    for (std::size_t k = 0; k < 2; ++k)  // sums in another order
      CHECK(std::abs(have[k].train.rmse - want[k].train.rmse) <= 1e-9 * want[k].train.rmse);
  }
}

TEST_CASE("what stays in host memory, and what cannot", "[fast_tucker]") {
  TestSpace const space;
  Extents const extents{150, 90, 8};
  FastTuckerOptions given;
  given.shrinkage = Shrinkage{};
  AnyFormatOptions format;
  auto const stays = [&](count_t entries, FastTuckerOptions const& options) {
    return stays_on_host<float, std::uint32_t>(space, extents, entries, options, format);
  };
  {
    DeviceMemoryAccount const account(1 << 20);
    if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
    CHECK_FALSE(stays(100, {}));
    CHECK(stays(1 << 20, {}));
    // A search keeps a part of the set in addition to the set.
    count_t const left = (1 << 20) - (64 << 10);
    CHECK_FALSE(stays(left / 64, {}));
    CHECK(stays(left / 64 + 1, {}));
    CHECK_FALSE(stays(left / 48, given));
    CHECK(stays(left / 48 + 1, given));
    FastTuckerOptions sgd;
    sgd.optimizer = FastTuckerOptimizer::sgd;
    CHECK_FALSE(stays(1 << 20, sgd));
    format.deterministic = true;
    CHECK(stays(1 << 20, {}));
    format.deterministic = false;
    format.format        = "sorted";
    CHECK_FALSE(stays(1 << 20, {}));
    format.format = "streamed-sorted";
    CHECK(stays(1, {}));
  }
  auto const X = many_ratings(5000, 2);
  Data<float> data;
  data.train_on_host = on_host<float>(X);
  AnyFormatOptions sorted;
  sorted.format = "sorted";
  CHECK(message_of([&] { static_cast<void>(fast_tucker(space, data, given, {}, sorted)); }) ==
        "the format sorted has no streaming");
  FastTuckerOptions sgd;
  sgd.optimizer = FastTuckerOptimizer::sgd;
  CHECK_THROWS_AS(fast_tucker(space, data, sgd), UsageError);
  {
    DeviceMemoryAccount const account(100000);
    if (account.counts()) CHECK_THROWS_AS(fast_tucker(space, data, given), MemoryError);
  }
  data.train = to_device<float, std::uint32_t>(space, X);
  CHECK_THROWS_AS(fast_tucker(space, data, given), UsageError);
}

}  // namespace
}  // namespace polyad::test
