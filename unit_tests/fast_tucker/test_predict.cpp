// SPDX-License-Identifier: BSD-3-Clause
// Predictions and errors of FastTucker models against the definition.
#include "polyad/fast_tucker/predict.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "fast_tucker/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
void expect_predictions(std::size_t order, std::size_t J, std::size_t rank, bool biases, Kind kind) {
  CAPTURE(order, J, rank, biases, to_string(kind), sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  Random random(order + 10 * J + 100 * rank);
  auto const X     = small_tensor(kind, order);
  auto const host  = random_model(random, X.extents, J, rank, biases);
  auto const model = to_device<Scalar>(space, host);
  auto const C     = make_intermediates(space, model);
  auto const coo   = to_device<Scalar, Index>(space, X);
  Kokkos::View<Scalar*, TestSpace::device_type> const predictions("predictions", X.nnz());
  predict(space, model, C, coo, predictions);
  auto const sums   = make_error_sums(space, X.nnz());
  auto const result = errors(space, model, C, coo, sums);
  auto const actual = flat(predictions);

  long double const relative = gamma<Scalar>(prediction_roundings(order, J + order, rank));
  long double squares = 0, absolutes = 0, most_off = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    auto const expected = oracle_prediction(host, X, p);
    REQUIRE(std::abs(actual[p] - expected.value) <= relative * expected.magnitude);
    long double const error = X.values[p] - expected.value;
    squares += error * error;
    absolutes += std::abs(error);
    most_off = std::max(most_off, relative * expected.magnitude);
  }
  REQUIRE(result.entries == X.nnz());
  if (X.nnz() == 0) {
    CHECK(result.rmse == 0);
    CHECK(result.mae == 0);
    return;
  }
  // Both are norms of the errors over the entries' number, so they are off by at most the largest error's
  // error; summing in double adds at most gamma(P).
  auto const count       = static_cast<long double>(X.nnz());
  long double const rmse = std::sqrt(squares / count), mae = absolutes / count;
  long double const sum = gamma<double>(X.nnz() + 4);
  CHECK(std::abs(result.rmse - rmse) <= most_off + sum * rmse);
  CHECK(std::abs(result.mae - mae) <= most_off + sum * mae);
}

TEST_CASE("predictions and errors agree with the definition", "[fast_tucker]") {
  for (std::size_t const rank : {1, 2, 4, 7, 16, 17, 32, 33, 70})
    for (std::size_t const order : {2, 3, 5}) {
      bool const biases = (rank + order) % 2 == 0;
      Kind const kind   = all_kinds[(rank + order) % all_kinds.size()];
      expect_predictions<double, std::uint32_t>(order, 3, rank, biases, kind);
      expect_predictions<float, std::uint32_t>(order, 3, rank, !biases, kind);
    }
  expect_predictions<double, std::uint64_t>(4, 5, 9, true, Kind::shuffled);
  expect_predictions<float, std::uint64_t>(16, 1, 3, true, Kind::shuffled);
  expect_predictions<float, std::uint32_t>(3, 4, 8, true, Kind::empty);
}

TEST_CASE("predictions are clipped, and NaN is not", "[fast_tucker]") {
  TestSpace const space;
  Random random(3);
  auto const X    = small_tensor(Kind::shuffled, 3);
  auto const host = random_model(random, X.extents, 2, 3, true);
  auto model      = to_device<double>(space, host);
  auto const C    = make_intermediates(space, model);
  auto const coo  = to_device<double, std::uint32_t>(space, X);
  Kokkos::View<double*, TestSpace::device_type> const all("all", X.nnz()), clipped("clipped", X.nnz());
  ValueRange const range{-0.5, 1.25};
  predict(space, model, C, coo, all);
  model.range = range;
  predict(space, model, C, coo, clipped);
  auto const expected = flat(all), actual = flat(clipped);
  std::size_t low = 0, high = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    low += expected[p] < range.lowest ? 1 : 0;
    high += expected[p] > range.highest ? 1 : 0;
    REQUIRE(actual[p] == std::min(std::max(expected[p], range.lowest), range.highest));
  }
  CHECK(low > 0);
  CHECK(high > 0);

  Kokkos::deep_copy(C[1], std::numeric_limits<double>::quiet_NaN());
  predict(space, model, C, coo, clipped);
  for (double const prediction : flat(clipped)) REQUIRE(std::isnan(prediction));
  CHECK(std::isnan(errors(space, model, C, coo, make_error_sums(space, X.nnz())).rmse));
}

TEST_CASE("models of impossible sizes and entries outside the model are refused", "[fast_tucker]") {
  TestSpace const space;
  std::vector<count_t> const J{2, 2, 2};
  auto const make = [&](Extents const& extents, std::vector<count_t> const& columns, count_t rank) {
    return FastTuckerModel<double, TestSpace>(space, extents, columns, rank, false);
  };
  CHECK_NOTHROW(make({4, 5, 6}, J, 3));
  CHECK_THROWS_AS(make({4, 5, 6}, J, 0), UsageError);
  CHECK_THROWS_AS(make({4, 5, 6}, {2, 0, 2}, 3), UsageError);
  CHECK_THROWS_AS(make({4, 5}, J, 3), UsageError);
  CHECK_THROWS_AS(make({4}, {2}, 3), UsageError);
  CHECK_THROWS_AS(make({count_t(1) << 50, 5, 6}, J, 3), MemoryError);

  auto const model = make({4, 5, 6}, J, 3);
  auto const C     = make_intermediates(space, model);
  HostTensor X{"too long", {4, 5, 7}, {3, 4, 6}, {1.0}};
  auto const coo = to_device<double, std::uint32_t>(space, X);
  Kokkos::View<double*, TestSpace::device_type> const one("one", 1), two("two", 2);
  CHECK_THROWS_AS(predict(space, model, C, coo, one), UsageError);
  X.extents[2]      = 6;
  X.indices[2]      = 5;
  auto const inside = to_device<double, std::uint32_t>(space, X);
  CHECK_NOTHROW(predict(space, model, C, inside, one));
  CHECK_THROWS_AS(predict(space, model, C, inside, two), UsageError);
}

}  // namespace
}  // namespace polyad::test
