// SPDX-License-Identifier: BSD-3-Clause
// CP-ALS in floats and in doubles at any order and length: the same fits, whatever the scale of the start.
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
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

/// Values that floats hold, from 1/2 to 3/2 in steps of 2^-23. Of few different values the sums of a slice's
/// many equal terms would round the same way again and again.
double some_float(Random& random) {
  return 0.5 + static_cast<double>(random_below(random, (1U << 23) + 1)) * 0x1p-23;
}

CpAlsOptions five_iterations(count_t rank) {
  CpAlsOptions options;
  options.rank           = rank;
  options.max_iterations = 5;
  options.tolerance      = 0;
  return options;
}

template <class Scalar>
auto in_fixed_order(HostTensor const& tensor) {
  TestSpace const space;
  return any_format(space,
                    Sorted<Scalar, std::uint32_t, TestSpace>::build(
                        space, to_device<Scalar, std::uint32_t>(space, tensor), {.deterministic = true}));
}

/// The smallest pivot of each update's normal equations, scaled to a unit diagonal, by Cholesky's
/// factorisation; from the Gram matrices before and after an iteration.
std::vector<double> pivots(std::vector<double> const& before, std::vector<double> const& after,
                           std::size_t order, std::size_t rank) {
  std::vector<double> result;
  std::size_t const size = rank * rank;
  for (std::size_t n = 0; n < order; ++n) {
    std::vector<long double> H(size, 1);
    for (std::size_t m = 0; m < order; ++m)
      for (std::size_t e = 0; e < size && m != n; ++e) H[e] *= (m < n ? after : before)[m * size + e];
    std::vector<long double> const unscaled = H;
    for (std::size_t e = 0; e < size; ++e)
      H[e] /= std::sqrt(unscaled[e / rank * (rank + 1)] * unscaled[e % rank * (rank + 1)]);
    long double smallest = 1;
    for (std::size_t k = 0; k < rank && smallest > 0; ++k) {
      smallest = std::min(smallest, H[k * (rank + 1)]);
      for (std::size_t i = k + 1; i < rank; ++i)
        for (std::size_t j = k + 1; j < rank; ++j)
          H[i * rank + j] -= H[i * rank + k] * H[k * rank + j] / H[k * (rank + 1)];
    }
    result.push_back(static_cast<double>(smallest));
  }
  return result;
}

struct Outcome {
  double fit;
  count_t fallbacks;
  std::vector<double> pivots;  // those of all updates
  std::vector<double> weights;
  bool is_finite;
};

template <class Scalar>
Outcome factor(HostTensor const& tensor, count_t rank) {
  TestSpace const space;
  auto const X = in_fixed_order<Scalar>(tensor);
  FactorMatrices<Scalar, TestSpace> const start(space, X.extents(), rank);
  fill_random(space, start, 1);
  auto const run = cp_als_loop(X, five_iterations(rank), start);
  Outcome outcome{};
  // The pivots need whole states: for doubles only, which show what the normal equations are like.
  constexpr bool watched = sizeof(Scalar) == sizeof(double);
  io::Checkpoint before;
  if (watched) before = run->driver().state();
  while (run->is_running()) {
    run->launch();
    run->finish({});
    if (!watched) continue;
    auto after = run->driver().state();
    for (double const pivot : pivots(before.grams, after.grams, tensor.order(), rank))
      outcome.pivots.push_back(pivot);
    before = std::move(after);
  }
  auto const result = run->take_result();
  outcome.fit       = result.fit;
  outcome.fallbacks = result.gram_fallbacks;
  outcome.weights   = result.model.weights;
  outcome.is_finite = true;
  for (double const weight : outcome.weights) outcome.is_finite = outcome.is_finite && std::isfinite(weight);
  return outcome;
}

/// N sizes from `shortest` to `longest`, evenly on a scale of logarithms; every second one from the end.
std::vector<std::uint64_t> sizes(std::size_t order, double shortest, double longest) {
  std::vector<std::uint64_t> result(order);
  for (std::size_t n = 0; n < order; ++n) {
    double const share = order == 1 ? 1 : static_cast<double>(n) / static_cast<double>(order - 1);
    double const size  = shortest * std::pow(longest / shortest, share);
    result[n % 2 == 0 ? n / 2 : order - 1 - n / 2] = static_cast<std::uint64_t>(std::round(size));
  }
  return result;
}

void expect_equal_fits(std::vector<std::uint64_t> const& extents, std::size_t nnz, count_t rank = 4) {
  Random random(extents.size() + extents[0]);
  auto const tensor = distinct(random_tensor(random, extents, nnz, some_float));
  auto const f64    = factor<double>(tensor, rank);
  auto const f32    = factor<float>(tensor, rank);
  auto const order  = static_cast<double>(extents.size());
  double const rest = (1 - f32.fit) * (1 - f32.fit) - (1 - f64.fit) * (1 - f64.fit);
  // A pivot of floats' factors is that of doubles' but for their rounding: twice the limit leaves room.
  double const limit = 8 * static_cast<double>(rank) * 0x1p-23;
  // A rounding of a float in V is enlarged by 1 / p in the factor that V is solved for, p the smallest pivot.
  double const smallest  = *std::min_element(f64.pivots.begin(), f64.pivots.end());
  double const tolerance = std::max(2e-6 + 1e-6 * order, order * 0x1p-24 / smallest);
  auto const singular =
      std::count_if(f64.pivots.begin(), f64.pivots.end(), [&](double p) { return p < 2 * limit; });
  std::string text = "sizes";
  for (auto const extent : extents) text += " " + std::to_string(extent);
  CAPTURE(text, tensor.nnz(), f64.fit, f32.fit, rest, f64.fallbacks, f32.fallbacks, singular, smallest);

  CHECK(std::abs(rest) <= tolerance);
  CHECK(f32.fallbacks <= static_cast<count_t>(singular));
  CHECK(f32.is_finite);
  CHECK(f32.weights.back() > 0);
}

/// Tensors of every order whose modes have up to `longest` rows, at most `rows` in all.
void expect_equal_fits_at_any_order(double longest, double rows, std::size_t nnz) {
  for (std::size_t order = 2; order <= 16; ++order) {
    double const each = std::min(longest, std::floor(rows / static_cast<double>(order)));
    expect_equal_fits(sizes(order, each, each), nnz);                      // all long
    expect_equal_fits(sizes(order, 2, std::min(longest, rows / 2)), nnz);  // short to long
    expect_equal_fits(sizes(order, 2, 2), nnz);
    std::vector<std::uint64_t> one_long(order, 2);
    one_long[order / 2] = static_cast<std::uint64_t>(longest);
    expect_equal_fits(one_long, nnz);
  }
}

TEST_CASE("CP-ALS: floats fit as doubles do, orders 2 to 16, short and long modes", "[cp]") {
  expect_equal_fits_at_any_order(20000, 160000, 2000);
}

/// Five iterations from a start.
template <class Scalar>
CpAlsResult<Scalar, TestSpace> factor_from(HostTensor const& tensor, HostFactors const& start) {
  TestSpace const space;
  return cp_als(space, in_fixed_order<Scalar>(tensor), five_iterations(start[0].columns),
                to_device<Scalar>(space, start));
}

template <class Scalar>
void expect_no_part_of_the_scale(std::vector<std::uint64_t> const& extents) {
  CAPTURE(extents.size(), sizeof(Scalar));
  Random random(11);
  auto const tensor   = distinct(random_tensor(random, extents, 500, some_float));
  auto const start    = random_factors(random, extents, 3);
  auto const expected = factor_from<Scalar>(tensor, start);
  CHECK(expected.fit > 0);
  auto scaled = start;
  for (std::size_t n = 0; n < extents.size(); ++n)
    for (std::size_t i = 0; i < extents[n]; ++i)
      for (std::size_t r = 0; r < 3; ++r)
        scaled[n](i, r) = std::ldexp(static_cast<double>(static_cast<Scalar>(scaled[n](i, r))),
                                     static_cast<int>((17 * n + 29 * r) % 90) - 45);
  auto const result = factor_from<Scalar>(tensor, scaled);
  CHECK(result.fit == expected.fit);
  CHECK(result.model.weights == expected.model.weights);
  for (int n = 0; n < result.model.factors.order(); ++n)
    CHECK(flat(result.model.factors[n]) == flat(expected.model.factors[n]));
}

TEST_CASE("CP-ALS: the scale of a start's columns changes no bit", "[cp]") {
  for (std::vector<std::uint64_t> const& extents :
       {std::vector<std::uint64_t>{30, 40, 20}, std::vector<std::uint64_t>(9, 700)}) {
    expect_no_part_of_the_scale<double>(extents);
    expect_no_part_of_the_scale<float>(extents);
  }
}

TEST_CASE("CP-ALS: a start of single entries in long modes fits in floats", "[cp]") {
  // As a converged model of a sparse tensor has them: far from a random start's even columns.
  std::vector<std::uint64_t> const extents(14, 3000);
  Random random(3);
  auto const tensor = distinct(random_tensor(random, extents, 300, some_float));
  HostFactors start;
  for (std::size_t n = 0; n < extents.size(); ++n) {
    start.emplace_back(extents[n], 3);
    for (std::size_t r = 0; r < 3; ++r) start[n](tensor.index(100 * r, n), r) = std::ldexp(1.0, 40);
  }
  auto const f32 = factor_from<float>(tensor, start);
  auto const f64 = factor_from<double>(tensor, start);
  CHECK(f64.fit > 1e-3);
  CHECK(std::abs(f32.fit - f64.fit) < 1e-6);
  for (std::size_t r = 0; r < 3; ++r)
    CHECK(std::abs(f32.model.weights[r] - f64.model.weights[r]) < 1e-5 * f64.model.weights[r]);
}

TEST_CASE("CP-ALS: a state of factors that hold all of lambda, as versions up to 0.1 kept it", "[cp]") {
  TestSpace const space;
  Random random(8);
  auto const tensor  = distinct(random_tensor(random, {30, 20, 25}, 400, some_float));
  auto const X       = in_fixed_order<double>(tensor);
  auto const options = five_iterations(3);
  FactorMatrices<double, TestSpace> const start(space, X.extents(), 3);
  fill_random(space, start, 1);
  TemporaryFolder const folder;
  auto part           = options;
  part.max_iterations = 2;
  part.checkpoint     = folder / "c";
  static_cast<void>(cp_als(space, X, part, start));
  auto state = io::read_checkpoint(part.checkpoint);
  for (std::size_t e = 0; e < state.factors[2].size(); ++e) state.factors[2][e] *= state.weights[e % 3];
  for (std::size_t e = 0; e < 9; ++e) state.grams[2 * 9 + e] *= state.weights[e / 3] * state.weights[e % 3];
  state.weights.clear();
  io::write_checkpoint(part.checkpoint, state);  // version 1
  auto rest           = options;
  rest.resume         = part.checkpoint;
  auto const expected = cp_als(space, X, options, start);
  auto const result   = cp_als(space, X, rest);
  CHECK(result.fit == expected.fit);
  CHECK(result.model.weights == expected.model.weights);
  for (int n = 0; n < 3; ++n) CHECK(flat(result.model.factors[n]) == flat(expected.model.factors[n]));
}

TEST_CASE("CP-ALS: floats fit as doubles do, modes of up to 10^7 rows", "[.][full]") {
  expect_equal_fits_at_any_order(1e7, 2e7, 20000);
}

}  // namespace
}  // namespace polyad::test
