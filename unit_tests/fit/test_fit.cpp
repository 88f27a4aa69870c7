// SPDX-License-Identifier: BSD-3-Clause
// The fit from squared norms with its bound, double-double arithmetic, the stop rule and degenerate runs.
#include <cmath>
#include <limits>
#include <vector>

#include "cp/run/degeneracy.hpp"
#include "fit/double_double.hpp"
#include "fit/fit.hpp"
#include "fit/stop_rule.hpp"
#include "fit/sum_over_ranks.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using namespace detail;
using testing::Random;
using testing::random_number;

TEST_CASE("fit: from squared norms", "[fit]") {
  CHECK(fit_of({25, 28, 0}).value == 1 - std::sqrt(28.0) / 5);  // ||X||^2 = 25, <X, M> = 3, ||M||^2 = 9
  CHECK(fit_of({25, 28, 0}).error < 1e-15);
  CHECK(fit_of({25, 28, 0}).error > 0);
  CHECK(fit_of({4, 0, 0}).value == 1);
  CHECK(fit_of({4, 4, 0}).value == 0);
  CHECK(fit_of({4, 16, 0}).value == -1);  // a model of the wrong sign
  CHECK(fit_of({0, 0, 0}).value == 1);
  CHECK(fit_of({0, 1, 0}).value == -HUGE_VAL);
  double const nan = std::nan("");
  CHECK(std::isnan(fit_of({nan, 0, 0}).value));
  CHECK(std::isnan(fit_of({1, nan, 0}).value));
}

TEST_CASE("fit: a negative residual is 1 with a bound, or an error", "[fit]") {
  auto const fit = fit_of({4, -4e-16, 8e-16});
  CHECK(fit.value == 1);
  CHECK(std::abs(fit.error / std::sqrt(1e-16) - 1) < 1e-6);
  CHECK_THROWS_AS(fit_of({4, -1e-15, 8e-16}), NumericalError);
  CHECK_THROWS_AS(fit_of({4, -1e-300, 0}), NumericalError);
  // The bound of a fit covers both sides.
  auto const middle = fit_of({1, 0.25, 0.05});
  CHECK(middle.value == 0.5);
  CHECK(std::abs(middle.error - (0.5 - std::sqrt(0.2))) < 1e-15);
  // In an iteration a residual that is too negative makes the bound larger; the end of the run decides.
  auto const doubtful = fit_of_iteration({4, -0.04, 8e-16});
  CHECK(doubtful.value == 1);
  CHECK(std::abs(doubtful.error - 0.1) < 1e-14);
}

TEST_CASE("fit: the formula's bound grows with the components and with the unit", "[fit]") {
  FormulaNumbers numbers{4, 3.9, 3.8, 2};
  auto const f32 = squares_of_formula<float>(numbers, 3);
  auto const f64 = squares_of_formula<double>(numbers, 3);
  CHECK(f32.residual == 4 - 2 * 3.9 + 3.8);
  CHECK(f32.bound > 1e-6 * 4);
  CHECK(f32.bound < 1e-4 * 4);
  CHECK(f64.bound > 1e-14 * 4);
  CHECK(f64.bound < 1e-12 * 4);
  numbers.components = 200;  // nearly cancel
  CHECK(squares_of_formula<float>(numbers, 3).bound > 99 * f32.bound);
}

/// a + b exactly, as the sum of three long doubles would give it.
long double value_of(DoubleDouble x) {
  return static_cast<long double>(x.high) + static_cast<long double>(x.low);
}

TEST_CASE("double-double: products and sums of doubles are exact", "[fit]") {
  Random random(1);
  for (int k = 0; k < 1000; ++k) {
    // 26 bits each, so that the product has 52, and the sum of two such far apart has more than 53.
    double const a =
        std::ldexp(std::round(std::ldexp(random_number(random) + 1e-9 * random_number(random), 40)), -40);
    double const b =
        std::ldexp(std::round(std::ldexp(random_number(random) + 1e-9 * random_number(random), 40)), -40);
    auto const product = DoubleDouble::product(a, b);
    CHECK(product.high == a * b);
    CHECK(product.low == std::fma(a, b, -product.high));
    double const small = std::ldexp(b, -30);
    auto const sum     = DoubleDouble::sum(a, small);
    CHECK(sum.high == a + small);
    CHECK(value_of(sum) == static_cast<long double>(a) + static_cast<long double>(small));
  }
}

TEST_CASE("double-double: sums that cancel keep 100 bits", "[fit]") {
  Random random(2);
  DoubleDouble sum;
  std::vector<double> terms;
  for (int k = 0; k < 500; ++k) terms.push_back(random_number(random));
  for (double const a : terms)
    for (double const b : {0.1, 3.7, 1e-3}) sum += DoubleDouble::product(a, b);
  for (double const a : terms)
    for (double const b : {3.7, 1e-3, 0.1}) sum += -DoubleDouble::product(a, b);
  CHECK(std::abs(static_cast<double>(sum)) < 1e-27);
  // (a + b)^2 - a^2 - 2 a b - b^2 = 0
  DoubleDouble const a(0.1, 1e-18), b(1e-7, 1e-25), both = a + b;
  auto const rest = both * both - a * a - a * b * 2 - b * b;
  CHECK(std::abs(static_cast<double>(rest)) < 1e-31);
}

TEST_CASE("double-double: sums over ranks do not depend on their order", "[fit]") {
  Random random(3);
  std::vector<DoubleDouble> all;
  for (int k = 0; k < 40; ++k) all.push_back(DoubleDouble::product(random_number(random), 0.1));
  // Two ranks, simulated: the other one's parts are added by `sum`.
  auto const sum_with = [](std::vector<DoubleDouble> own, std::vector<DoubleDouble> other) {
    std::vector<double> sent;
    RankSums const record{[&](std::span<double> numbers) { sent.assign(numbers.begin(), numbers.end()); },
                          [](double) { return 4.0; }};
    sum_over_ranks(record, other);
    RankSums const add{[&](std::span<double> numbers) {
                         for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] += sent[k];
                       },
                       [](double) { return 4.0; }};
    sum_over_ranks(add, own);
    return own;
  };
  std::vector<DoubleDouble> const one(all.begin(), all.begin() + 20), other(all.begin() + 20, all.end());
  auto const there = sum_with(one, other), back = sum_with(other, one);
  for (std::size_t k = 0; k < 20; ++k) {
    auto const expected = one[k] + other[k];
    CHECK(there[k].high == back[k].high);
    CHECK(there[k].low == back[k].low);
    CHECK(std::abs(static_cast<double>(there[k] - expected)) < 1e-30);
  }
  std::vector<DoubleDouble> alone = all;
  sum_over_ranks({}, alone);
  CHECK(alone[5].high == all[5].high);
}

TEST_CASE("stop rule: what is left and what is explained both count", "[fit]") {
  double const tolerance = 1e-4;
  // Half explained: about the tolerance itself. Little explained or little left: less.
  CHECK(std::abs(negligible_change(0.5, tolerance) / tolerance - 0.5 * std::sqrt(0.75)) < 1e-12);
  CHECK(negligible_change(1e-4, tolerance) < 1.5e-2 * tolerance);
  CHECK(negligible_change(0.99, tolerance) < 1e-2 * tolerance);
  CHECK(negligible_change(1, tolerance) > 0.9e-3 * tolerance);
  CHECK(negligible_change(-0.5, tolerance) > 0);

  StopRule rule(tolerance);
  CHECK_FALSE(rule.after(0.3, 1e-16));  // the first fit does not change anything
  CHECK_FALSE(rule.after(0.31, 1e-16));
  CHECK(rule.after(0.31001, 1e-16) == StopReason::converged);
  // The same change where little is explained.
  StopRule little(tolerance);
  CHECK_FALSE(little.after(6.4e-5, 1e-16));
  CHECK_FALSE(little.after(7.4e-5, 1e-16));
}

TEST_CASE("stop rule: rounding that hides the change is a reason of its own", "[fit]") {
  StopRule fine(1e-9);
  CHECK_FALSE(fine.after(0.5, 1e-7));
  CHECK(fine.after(0.5, 1e-7) == StopReason::rounding);
  // A fit that sinks again and again, by less than rounding hides.
  StopRule sinking(1e-12);
  double const fits[] = {0.9, 0.91, 0.91 - 1e-8, 0.91, 0.91 - 2e-8, 0.91, 0.91 - 1e-8};
  for (std::size_t k = 0; k < 6; ++k) CHECK_FALSE(sinking.after(fits[k], 1e-7));
  CHECK(sinking.after(fits[6], 1e-7) == StopReason::rounding);
  // A loss beyond rounding is none of its business.
  StopRule losing(1e-12);
  for (int k = 0; k < 10; ++k) CHECK_FALSE(losing.after(k % 2 == 0 ? 0.9 : 0.8, 1e-7));
  StopRule never(0);
  for (int k = 0; k < 10; ++k) CHECK_FALSE(never.after(0.5, 1e-7));
  StopRule restored(1e-4);
  restored.restore(0.5);
  CHECK(restored.after(0.5, 1e-16) == StopReason::converged);
}

TEST_CASE("degeneracy: components that nearly cancel and grow", "[fit]") {
  Degeneracy growing, steady, apart;
  for (int k = 1; k <= 20; ++k) {
    growing.add(std::cbrt(k), 2 * std::cbrt(k));
    steady.add(5, 10 + 1e-9 * k);
    apart.add(0, 2 * std::cbrt(k));
  }
  CHECK(growing.is_growing());
  CHECK_FALSE(steady.is_growing());
  CHECK_FALSE(apart.is_growing());
  growing.add(2, 5);  // the last iteration made them shorter
  CHECK_FALSE(growing.is_growing());
  Degeneracy one;
  one.add(3, 6);
  CHECK_FALSE(one.is_growing());
}

}  // namespace
}  // namespace polyad::test
