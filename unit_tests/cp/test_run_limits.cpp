// SPDX-License-Identifier: BSD-3-Clause
// The boundaries of the drivers: limits that make no sense are refused, 0 iterations report the fit of the
// start, and a start is overwritten only if it is handed over.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "polyad/cp/cp_als.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

constexpr double nan     = std::numeric_limits<double>::quiet_NaN();
constexpr auto quietly   = [](auto&&... arguments) { (static_cast<void>(arguments), ...); };
constexpr double wrong[] = {nan, -1.0, -1e-300, -std::numeric_limits<double>::infinity()};

HostTensor some_tensor() {
  Random random(4);
  return distinct(random_tensor(random, {9, 7, 8}, 120));
}

TEST_CASE("limits: NaN and negative numbers are refused by every driver", "[cp][limits]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  auto const X   = any_format(space, coo, {.rank = 2});
  auto const T   = any_format(space, coo, {.rank = 2, .needs = {Capability::ttmc}});
  auto const cp  = [&](CpAlsOptions const& options) {
    CHECK_THROWS_AS(cp_als(space, X, options), UsageError);
    CHECK_THROWS_AS(cp_als(space, coo, options), UsageError);
    auto several     = options;
    several.restarts = 2;
    CHECK_THROWS_AS(cp_als(space, X, several), UsageError);
  };
  auto const hooi = [&](TuckerOptions options) {
    options.ranks = {2, 2, 2};
    CHECK_THROWS_AS(tucker(space, T, options), UsageError);
    CHECK_THROWS_AS(tucker(space, coo, options), UsageError);
  };
  auto const completion = [&](FastTuckerOptions options) {
    options.rank  = 2;
    options.ridge = 1;
    CHECK_THROWS_AS(fast_tucker(space, coo, options), UsageError);
    options.ridge.reset();  // with a search
    CHECK_THROWS_AS(fast_tucker(space, coo, options), UsageError);
  };
  for (double const number : wrong) {
    CAPTURE(number);
    cp({.tolerance = number});
    cp({.time_limit_s = number});
    hooi({.tolerance = number});
    hooi({.time_limit_s = number});
    hooi({.vectors = {.tolerance = number}});
    completion({.time_limit_s = number});
    CHECK_THROWS_AS(nvecs(space, coo, 2, {.tolerance = number}), UsageError);
    CHECK_THROWS_AS(any_format(space, coo, {.iterations = number}), UsageError);
  }
  for (int const number : {-1, std::numeric_limits<int>::min()}) {
    CAPTURE(number);
    cp({.max_iterations = number});
    hooi({.max_iterations = number});
    hooi({.vectors = {.max_iterations = number}});
    completion({.max_epochs = number});
    completion({.patience = number});
    completion({.bias = {.sweeps = number}});
    CHECK_THROWS_AS(nvecs(space, coo, 2, {.max_iterations = number}), UsageError);
  }
}

/// 1 - ||X - M|| / ||X|| over all cells in long double, for a model's value at a cell.
template <class Model>
long double fit_over_cells(HostTensor const& tensor, Model const& model) {
  std::size_t const J = tensor.extents[1], K = tensor.extents[2];
  std::vector<long double> cells(tensor.extents[0] * J * K);
  for (std::size_t p = 0; p < tensor.nnz(); ++p)
    cells[(tensor.index(p, 0) * J + tensor.index(p, 1)) * K + tensor.index(p, 2)] += tensor.values[p];
  long double squares = 0, residuals = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    long double const e = cells[c] - model(c / (J * K), c / K % J, c % K);
    squares += cells[c] * cells[c];
    residuals += e * e;
  }
  return 1 - std::sqrt(residuals / squares);
}

TEST_CASE("limits: 0 iterations report the fit of the start", "[cp][limits]") {
  TestSpace const space;
  auto const tensor = some_tensor();
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    auto const result = cp_als(space, coo, {.rank = 3, .max_iterations = 0, .seed = seed});
    CHECK(result.history.empty());
    CHECK(result.reason == StopReason::max_iterations);
    std::vector<std::vector<double>> A;
    for (int n = 0; n < 3; ++n) A.push_back(flat(result.model.factors[n]));
    auto const model = [&](std::size_t i, std::size_t j, std::size_t k) {
      long double sum = 0;
      for (std::size_t r = 0; r < 3; ++r)
        sum += static_cast<long double>(result.model.weights[r]) * A[0][i * 3 + r] * A[1][j * 3 + r] *
               A[2][k * 3 + r];
      return sum;
    };
    CHECK(std::abs(result.fit - fit_over_cells(tensor, model)) <= 1e-12);
    // The model is the start.
    FactorMatrices<double, TestSpace> const start(space, coo.extents(), 3);
    fill_random(space, start, seed);
    auto const first = flat(start[0]), second = flat(start[1]), third = flat(start[2]);
    long double sum = 0;
    for (std::size_t r = 0; r < 3; ++r)
      sum += static_cast<long double>(first[2 * 3 + r]) * second[5 * 3 + r] * third[1 * 3 + r];
    CHECK(std::abs(model(2, 5, 1) - sum) <= 1e-13L);

    TuckerOptions options;
    options.ranks          = {2, 3, 2};
    options.max_iterations = 0;
    options.seed           = seed;
    auto const found       = tucker(space, coo, options);
    CHECK(found.history.empty());
    CHECK(found.reason == StopReason::max_iterations);
    std::vector<std::vector<double>> U;
    for (auto const& factor : found.model.factors) U.push_back(flat(factor));
    auto const G          = flat(found.model.core);  // R_2 x (R_0 R_1)
    auto const core_model = [&](std::size_t i, std::size_t j, std::size_t k) {
      long double total = 0;
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t b = 0; b < 3; ++b)
          for (std::size_t c = 0; c < 2; ++c)
            total += static_cast<long double>(G[c * 6 + a * 3 + b]) * U[0][i * 2 + a] * U[1][j * 3 + b] *
                     U[2][k * 2 + c];
      return total;
    };
    CHECK(std::abs(found.fit - fit_over_cells(tensor, core_model)) <= 1e-12);
  }
}

TEST_CASE("limits: a start is overwritten only if it is handed over", "[cp][limits]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  auto const X   = any_format(space, coo, {.rank = 3});
  // In CP-ALS, by coordinates and by a format.
  FactorMatrices<double, TestSpace> start(space, coo.extents(), 3);
  fill_random(space, start, 5);
  auto const numbers   = [&] { return std::vector{flat(start[0]), flat(start[1]), flat(start[2])}; };
  auto const before    = numbers();
  auto const by_format = cp_als(space, X, {.max_iterations = 3}, start);
  CHECK(numbers() == before);
  quietly(cp_als(space, coo, {.rank = 3, .max_iterations = 3}, start));
  CHECK(numbers() == before);
  auto handed     = start;  // shares the Views
  auto const same = cp_als(space, X, {.max_iterations = 3}, std::move(handed));
  CHECK(numbers() != before);
  CHECK(same.model.factors[0].data() == start[0].data());
  CHECK(std::abs(same.fit - by_format.fit) <= 1e-12);

  TuckerOptions options;
  options.ranks          = {2, 2, 2};
  options.max_iterations = 3;
  auto const T           = any_format(space, coo, format_options(options));
  auto U                 = random_tucker_start<double>(space, coo.extents(), options);
  auto const all         = [&] { return std::vector{flat(U[0]), flat(U[1]), flat(U[2])}; };
  auto const first       = all();
  auto const kept        = tucker(space, T, options, U);
  quietly(tucker(space, coo, options, U));
  CHECK(all() == first);
  auto moved       = U;
  auto const taken = tucker(space, T, options, std::move(moved));
  CHECK(all() != first);
  CHECK(taken.model.factors[1].data() == U[1].data());
  CHECK(std::abs(taken.fit - kept.fit) <= 1e-12);

  std::vector<count_t> const J{2, 2, 2};
  FastTuckerModel<double, TestSpace> model(space, coo.extents(), J, 2, false);
  fill_start(space, model, 1, 3);
  FastTuckerOptions learning;
  learning.ridge      = 1;
  learning.max_epochs = 2;
  auto const matrices = [&] { return std::vector{flat(model.A(0)), flat(model.B(0)), flat(model.A(2))}; };
  auto const given    = matrices();
  auto const learned  = fast_tucker(space, coo, learning, model);
  CHECK(matrices() == given);
  CHECK(flat(learned.model.A(0)) != given[0]);
  auto away       = model;
  auto const last = fast_tucker(space, coo, learning, std::move(away));
  CHECK(matrices() != given);
  CHECK(last.model.A(0).data() == model.A(0).data());
}

}  // namespace
}  // namespace polyad::test
