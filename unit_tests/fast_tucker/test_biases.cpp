// SPDX-License-Identifier: BSD-3-Clause
// The mean and the biases: each minimises, given the others.
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>

#include "fast_tucker/drift.hpp"
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

TEST_CASE("drifts are damped averages of what is left in a bin of time", "[fast_tucker]") {
  TestSpace const space;
  for (Kind const kind : {Kind::shuffled, Kind::duplicates, Kind::hypersparse, Kind::one_long_slice}) {
    auto X = small_tensor(kind, 3);
    // Bins cover the times up to the last one with entries; "drifts fade out" has later ones.
    X.extents[0] = 0;
    for (std::size_t p = 0; p < X.nnz(); ++p) X.extents[0] = std::max(X.extents[0], X.index(p, 0) + 1);
    auto const coo         = to_device<double, std::uint32_t>(space, X);
    auto const times       = X.extents[0];
    auto model             = biased_model(space, X);
    std::size_t const bins = std::min<std::size_t>(3, times);
    fit_biases(space, coo,
               {.sweeps = 3, .damping = 2, .time_mode = 0, .drift = {{7, 1}, {times + 5, 4}, {3, 1.5}}},
               model);
    CHECK(model.time_mode == 0);
    CHECK(model.drift(0).extent(1) == 0);  // time does not drift over itself
    CHECK(model.drift(1).extent(1) == times);
    REQUIRE(model.drift(2).extent(1) == bins);
    // The last mode's drift was fitted last.
    constexpr long double tolerance = 1e-10L;
    std::vector<std::vector<double>> bias;
    for (int n = 0; n < 3; ++n) bias.push_back(flat(model.bias(n)));
    auto const drift1 = to_host<double>(space, model.drift(1)),
               drift2 = to_host<double>(space, model.drift(2));
    auto const bin    = [&](std::size_t p, std::size_t count) { return X.index(p, 0) * count / times; };
    std::vector<long double> sum(X.extents[2] * bins);
    std::vector<std::size_t> count(sum.size());
    std::vector<long double> left(X.nnz());
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      left[p] = X.values[p] - model.mean - drift1[X.index(p, 1) * times + bin(p, times)];
      for (std::size_t n = 0; n < 3; ++n) left[p] -= bias[n][X.index(p, n)];
      sum[X.index(p, 2) * bins + bin(p, bins)] += left[p];
      ++count[X.index(p, 2) * bins + bin(p, bins)];
    }
    for (std::size_t k = 0; k < sum.size(); ++k)
      REQUIRE(std::abs(drift2[k] - sum[k] / (1.5L + static_cast<long double>(count[k]))) <= tolerance);
    // The rest, and predictions without an interaction, know the drifts.
    auto const rest        = flat(without_biases(space, coo, model).values());
    auto const predictions = flat(predict(space, model, coo));
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      long double const r = left[p] - drift2[X.index(p, 2) * bins + bin(p, bins)];
      REQUIRE(std::abs(rest[p] - r) <= tolerance);
      REQUIRE(std::abs(predictions[p] - (X.values[p] - r)) <= tolerance);
    }
    // A fit without time takes the drifts away.
    fit_biases(space, coo, {}, model);
    CHECK(model.time_mode == -1);
    CHECK(model.drift(2).extent(1) == 0);
  }
}

TEST_CASE("times lie in bins of equal length, later ones in the last", "[fast_tucker]") {
  CHECK(time_bin(0, 3, 10) == 0);
  CHECK(time_bin(3, 3, 10) == 0);
  CHECK(time_bin(4, 3, 10) == 1);
  CHECK(time_bin(9, 3, 10) == 2);
  CHECK(time_bin(10, 3, 10) == 2);
  CHECK(time_bin(~count_t(0), 3, 10) == 2);
}

TEST_CASE("drifts lead to biases that do not drift after the last time with entries", "[fast_tucker]") {
  TestSpace const space;
  Random random(7);
  std::vector<std::uint64_t> const seen_extents{15, 20, 12}, all_extents{15, 20, 20};
  auto X         = random_tensor(random, seen_extents, 900);
  auto const fit = [&](std::vector<std::uint64_t> const& extents, double fade, std::uint64_t bins = 3) {
    X.extents = extents;
    FastTuckerModel<double, TestSpace> model(space, Extents{std::span<count_t const>(extents)},
                                             std::vector<count_t>{1, 1, 1}, 1, true);
    fit_biases(space, to_device<double, std::uint32_t>(space, X),
               {.sweeps = 3, .damping = 2, .time_mode = 2, .drift = {{bins, 2}, {0, 30}, {0, fade}}}, model);
    return model;
  };
  auto const of_seen = fit(seen_extents, 30), faded = fit(all_extents, 0.5), kept = fit(all_extents, 0);
  REQUIRE(of_seen.drift(0).extent(1) == 3);
  REQUIRE(faded.drift(0).extent(1) == 5);  // as long as the three bins of twelve times
  // The biases of a mode that does not drift were fitted next to drifts, and lead to others, too.
  REQUIRE(faded.drift(1).extent(1) == 5);
  CHECK(of_seen.drift(1).extent(1) == 0);
  auto const of_items = flat(fit(all_extents, 0, 0).bias(1)), item = flat(faded.bias(1)),
             moves = to_host<double>(space, faded.drift(1));
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(of_items[i] != item[i]);
    for (std::size_t b = 0; b < 3; ++b) CHECK(moves[5 * i + b] == 0);
    CHECK(moves[5 * i + 4] == Approx((of_items[i] - item[i]) / 3));  // X = 0.5
  }
  auto const three = to_host<double>(space, of_seen.drift(0)), five = to_host<double>(space, faded.drift(0)),
             same   = to_host<double>(space, kept.drift(0));
  auto const steady = flat(fit(all_extents, 0, 0).bias(0)), bias = flat(faded.bias(0));
  auto const ended = to_host<double>(space, fit(all_extents, 30).drift(0));  // nothing is left of them
  for (std::size_t i = 0; i < 15; ++i) {
    double const end = steady[i] - bias[i];
    CHECK(end != 0);
    for (std::size_t b = 0; b < 3; ++b) CHECK(five[5 * i + b] == Approx(three[3 * i + b]));
    // The last two bins are the first one and the second one after the end.
    CHECK(five[5 * i + 3] == Approx(end + (three[3 * i + 2] - end) / 1.5));
    CHECK(five[5 * i + 4] == Approx(end + (three[3 * i + 2] - end) / 2));
    CHECK(same[5 * i + 4] == Approx(three[3 * i + 2]));
    for (std::size_t b = 3; b < 5; ++b) CHECK(std::abs(ended[5 * i + b] - end) < 1e-12);
  }
  // Bins end at the last seen time, or near it if there are many times, and are not longer than those of the
  // fit.
  for (count_t const bins : {2, 4, 16})
    for (count_t const seen : {14, 17, 18, 19, 23}) {
      count_t const all = detail::bins_over_all(std::min(bins, seen), seen, 24);
      CHECK(time_bin(seen, all, 24) > time_bin(seen - 1, all, 24));
    }
  CHECK(detail::bins_over_all(4, 18, 24) == 7);  // the sixth begins with time 18
  CHECK(detail::bins_over_all(4, 24, 24) == 4);
  CHECK(detail::bins_over_all(0, 18, 24) == 0);
  CHECK(detail::bins_over_all(18, 18, 24) == 24);
  for (count_t const bins : {2, 7, 30})
    for (count_t const seen : {101, 500, 999}) {
      count_t const all = detail::bins_over_all(bins, seen, 1000);
      CHECK(all * seen >= bins * 1000);
      CHECK(all <= 1000);
    }
}

TEST_CASE("times after the last one with entries have no bias, even in its bin", "[fast_tucker]") {
  TestSpace const space;
  Random random(8);
  auto X    = random_tensor(random, {15, 12}, 300);
  X.extents = {15, 20};  // ten times share a bias
  FastTuckerModel<double, TestSpace> model(space, Extents{X.extents[0], X.extents[1]},
                                           std::vector<count_t>{1, 1}, 1, true);
  fit_biases(space, to_device<double, std::uint32_t>(space, X),
             {.sweeps = 3, .time_mode = 1, .drift = {{0, 30}, {2, 30}}}, model);
  auto const bias = flat(model.bias(1));
  for (std::size_t t = 0; t < 20; ++t) {
    CHECK((bias[t] == 0) == (t >= 12));
    if (t < 12) CHECK(bias[t] == bias[t / 10 * 10]);
  }
}

TEST_CASE("drifts without a number have thirty bins or fewer", "[fast_tucker]") {
  TestSpace const space;
  Random random(5);
  for (std::uint64_t const times : {4, 20, 100}) {
    auto const X = random_tensor(random, {20, 900, times}, 2000);
    auto model   = biased_model(space, X);
    fit_biases(space, to_device<double, std::uint32_t>(space, X), {.sweeps = 1, .time_mode = 2}, model);
    CHECK(model.drift(0).extent(1) == std::min<count_t>(times, 30));
    CHECK(model.drift(1).extent(1) == std::min<count_t>(times, 8));  // a row has two entries
    CHECK(model.drift(2).extent(1) == 0);
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
    fit_biases(space, to_device<double, std::uint32_t>(TestSpace(), X),
               {.time_mode = 1, .drift = std::vector<BiasDrift>(4, {2, 3})}, model);
    auto bias = flat(model.bias(0));
    for (double const x : to_host<double>(TestSpace(), model.drift(3))) bias.push_back(x);
    if (first.empty()) first = bias;
    CHECK(bias == first);
  }
}

TEST_CASE("biases of nothing, and of what is not a number, are refused", "[fast_tucker]") {
  TestSpace const space;
  auto X     = small_tensor(Kind::empty, 3);
  auto model = biased_model(space, X);
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), UsageError);
  X = small_tensor(Kind::shuffled, 3);
  for (BiasOptions const& options : {BiasOptions{.time_mode = 3}, BiasOptions{.time_mode = -2},
                                     BiasOptions{.time_mode = 0, .drift = {{3, 1}}},
                                     BiasOptions{.time_mode = 0, .drift = {{}, {3, -1}, {}}}}) {
    CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), options, model),
                    UsageError);
  }
  X.values[17] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), NumericalError);
  X.values[17] = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(fit_biases(space, to_device<double, std::uint32_t>(space, X), {}, model), NumericalError);
}

}  // namespace
}  // namespace polyad::test
