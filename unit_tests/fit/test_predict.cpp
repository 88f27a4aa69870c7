// SPDX-License-Identifier: BSD-3-Clause
// Values of CP and Tucker models at coordinates, residuals and errors, against their definitions.
#include "polyad/fit/predict.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

/// A model of either kind: of CP the core is empty, and all factors have as many columns as there are
/// weights.
struct DrawnModel {
  std::vector<std::uint64_t> extents;  // I_n
  HostFactors factors;                 // with a row of each that is stored
  std::vector<double> weights;
  std::vector<double> core;  // R_0 x ... x R_{N-1}, row-major
  std::vector<StoredRows> rows;
};

/// The value at a place, and the sum of the absolute values of its terms.
struct ValueAtPlace {
  long double value = 0, magnitude = 0;
  std::size_t terms = 0;
};

ValueAtPlace value_of_definition(DrawnModel const& M, HostTensor const& X, std::size_t p) {
  ValueAtPlace sum;
  std::size_t const order = X.order();
  std::vector<std::size_t> at(order);
  for (std::size_t n = 0; n < order; ++n) {
    at[n] = X.index(p, n);
    if (M.rows.empty()) continue;
    at[n] = M.rows[n].position(X.index(p, n));
    if (at[n] == StoredRows::none) return sum;
  }
  auto const add = [&](long double term) {
    sum.value += term;
    sum.magnitude += std::abs(term);
    ++sum.terms;
  };
  if (M.core.empty()) {
    for (std::size_t r = 0; r < M.weights.size(); ++r) {
      long double term = M.weights[r];
      for (std::size_t n = 0; n < order; ++n) term *= M.factors[n](at[n], r);
      add(term);
    }
    return sum;
  }
  for (std::size_t e = 0; e < M.core.size(); ++e) {
    long double term = M.core[e];
    std::size_t rest = e;
    for (std::size_t n = order; n-- > 0;) {
      term *= M.factors[n](at[n], rest % M.factors[n].columns);
      rest /= M.factors[n].columns;
    }
    add(term);
  }
  return sum;
}

/// Every third row of each mode is stored if `compact`.
DrawnModel drawn_model(Random& random, HostTensor const& X, std::vector<std::size_t> const& ranks, bool is_cp,
                       bool compact) {
  DrawnModel model{X.extents, {}, {}, {}, {}};
  std::size_t size = 1;
  for (std::size_t n = 0; n < X.order(); ++n) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = n % 3; i < X.extents[n]; i += 3) numbers.push_back(i);
    if (compact) model.rows.push_back(n == 1 ? StoredRows(X.extents[n]) : StoredRows(X.extents[n], numbers));
    model.factors.push_back(random_matrix(random, compact ? model.rows[n].size() : X.extents[n], ranks[n]));
    size *= ranks[n];
  }
  if (is_cp) model.weights = random_matrix(random, ranks[0], 1).data;
  if (!is_cp) model.core = random_matrix(random, size, 1).data;
  return model;
}

template <class Scalar>
Ktensor<Scalar, TestSpace> cp_on_device(DrawnModel const& host) {
  TestSpace const space;
  return {host.weights, to_device<Scalar>(space, host.factors), host.rows};
}

template <class Scalar>
TuckerModel<Scalar, TestSpace> tucker_on_device(DrawnModel const& host) {
  TestSpace const space;
  TuckerModel<Scalar, TestSpace> model;
  for (auto const& factor : host.factors) {
    model.factors.push_back(make_factor_matrix<Scalar>(space, "factor", factor.rows, factor.columns));
    from_host<Scalar>(space, factor.data, model.factors.back());
  }
  std::size_t const last = host.factors.back().columns, others = host.core.size() / last;
  std::vector<double> unfolded(host.core.size());
  for (std::size_t e = 0; e < host.core.size(); ++e) unfolded[e % last * others + e / last] = host.core[e];
  model.core = make_factor_matrix<Scalar>(space, "core", last, others);
  from_host<Scalar>(space, unfolded, model.core);
  model.rows = host.rows;
  return model;
}

/// Values and residuals are off by the roundings of doubles and one of a Scalar.
template <class Scalar, class Index, class Model>
void expect_values(HostTensor const& X, DrawnModel const& host, Model const& model) {
  CAPTURE(X.name, X.extents, sizeof(Scalar), sizeof(Index), host.core.size(), host.rows.size());
  TestSpace const space;
  auto const coo    = to_device<Scalar, Index>(space, X);
  auto const values = flat(predict(space, model, coo)), left = flat(residuals(space, model, coo));
  auto const found = errors(space, model, coo);
  REQUIRE(values.size() == X.nnz());
  REQUIRE(left.size() == X.nnz());
  REQUIRE(found.entries == X.nnz());
  constexpr auto unit = static_cast<long double>(std::numeric_limits<Scalar>::epsilon());
  long double squares = 0, absolutes = 0, most_off = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    auto const expected   = value_of_definition(host, X, p);
    long double const off = gamma<double>(2 * expected.terms + 3 * X.order() + 8) * expected.magnitude;
    long double const e   = X.values[p] - expected.value;
    REQUIRE(std::abs(values[p] - expected.value) <= off + unit * std::abs(expected.value));
    REQUIRE(std::abs(left[p] - e) <= 2 * off + unit * std::abs(e));
    squares += e * e;
    absolutes += std::abs(e);
    most_off = std::max(most_off, 2 * off);
  }
  if (X.nnz() == 0) {
    CHECK((found.rmse == 0 && found.mae == 0));
    return;
  }
  auto const count       = static_cast<long double>(X.nnz());
  long double const rmse = std::sqrt(squares / count), mae = absolutes / count;
  long double const sum = gamma<double>(4 * X.nnz() + 8);
  CHECK(std::abs(found.rmse - rmse) <= most_off + sum * rmse);
  CHECK(std::abs(found.mae - mae) <= most_off + sum * mae);
}

template <class Scalar, class Index>
void expect_cp(std::size_t order, std::size_t rank, Kind kind, bool compact) {
  Random random(order + 10 * rank);
  auto const X    = small_tensor(kind, order);
  auto const host = drawn_model(random, X, std::vector<std::size_t>(order, rank), true, compact);
  expect_values<Scalar, Index>(X, host, cp_on_device<Scalar>(host));
}

template <class Scalar, class Index>
void expect_tucker(std::size_t order, std::size_t rank, Kind kind, bool compact) {
  Random random(order + 10 * rank);
  auto const X = small_tensor(kind, order);
  std::vector<std::size_t> ranks;
  for (std::size_t n = 0; n < order; ++n) ranks.push_back(1 + (rank + n) % (order > 4 ? 3 : rank));
  auto const host = drawn_model(random, X, ranks, false, compact);
  expect_values<Scalar, Index>(X, host, tucker_on_device<Scalar>(host));
}

TEST_CASE("values of CP models agree with the definition", "[fit]") {
  for (std::size_t const rank : {1, 3, 16, 33, 130})
    for (std::size_t const order : {1, 2, 3, 4, 5, 6}) {
      Kind const kind    = all_kinds[(rank + order) % all_kinds.size()];
      bool const compact = (rank + order) % 3 == 0;
      expect_cp<double, std::uint32_t>(order, rank, kind, compact);
      expect_cp<float, std::uint32_t>(order, rank, kind, !compact);
    }
  for (Kind const kind : all_kinds) expect_cp<double, std::uint64_t>(3, 5, kind, true);
  expect_cp<float, std::uint64_t>(16, 3, Kind::shuffled, false);
}

TEST_CASE("values of Tucker models agree with the definition", "[fit]") {
  for (std::size_t const rank : {1, 3, 7, 33})
    for (std::size_t const order : {1, 2, 3, 4, 5, 6}) {
      if (rank == 33 && order > 3) continue;  // 33^4 terms take long
      Kind const kind    = rank == 33 ? Kind::one_nonzero : all_kinds[(rank + order) % all_kinds.size()];
      bool const compact = (rank + order) % 3 == 0;
      expect_tucker<double, std::uint32_t>(order, rank, kind, compact);
      expect_tucker<float, std::uint32_t>(order, rank, kind, !compact);
    }
  for (Kind const kind : all_kinds) expect_tucker<double, std::uint64_t>(3, 5, kind, true);
  expect_tucker<double, std::uint32_t>(2, 130, Kind::shuffled, false);
}

TEST_CASE("squares of errors neither overflow nor vanish, and NaN stays", "[fit]") {
  TestSpace const space;
  HostTensor X{"two", {2, 2}, {0, 0, 1, 1}, {3, 4}};
  DrawnModel host{X.extents, {HostMatrix(2, 1), HostMatrix(2, 1)}, {1}, {}, {}};
  for (double const scale : {1e-200, 1e-160, 1.0, 1e160, 1e300}) {
    CAPTURE(scale);
    X.values         = {3 * scale, 4 * scale};
    auto const found = errors(space, cp_on_device<double>(host), to_device<double, std::uint32_t>(space, X));
    CHECK(std::abs(found.rmse / scale - std::sqrt(12.5)) < 1e-14);
    CHECK(std::abs(found.mae / scale - 3.5) < 1e-14);
  }
  X.values             = {3, 4};
  host.factors[0].data = {1, nan_value};
  host.factors[1].data = {1, 1};
  auto const coo       = to_device<double, std::uint32_t>(space, X);
  auto const values    = flat(predict(space, cp_on_device<double>(host), coo));
  CHECK(values[0] == 1);
  CHECK(std::isnan(values[1]));
  CHECK(!std::isfinite(errors(space, cp_on_device<double>(host), coo).rmse));
}

TEST_CASE("residuals may take the place of the values", "[fit]") {
  TestSpace const space;
  Random random(2);
  auto const X     = small_tensor(Kind::shuffled, 3);
  auto const host  = drawn_model(random, X, {4, 4, 4}, true, false);
  auto const model = cp_on_device<double>(host);
  auto const coo   = to_device<double, std::uint32_t>(space, X);
  auto const apart = flat(residuals(space, model, coo));
  residuals(space, model, coo, coo.values());
  CHECK(flat(coo.values()) == apart);
}

TEST_CASE("values of places and models that do not fit are refused", "[fit]") {
  TestSpace const space;
  Random random(1);
  HostTensor X{"one", {4, 5, 6}, {3, 4, 5}, {1.0}};
  auto const host  = drawn_model(random, X, {2, 2, 2}, true, false);
  auto const cp    = cp_on_device<double>(host);
  auto const inner = tucker_on_device<double>(drawn_model(random, X, {2, 3, 2}, false, false));
  auto const at    = [&](HostTensor const& Y) { return to_device<double, std::uint32_t>(space, Y); };
  Kokkos::View<double*, TestSpace::device_type> const two("two", 2);
  CHECK_THROWS_AS(predict(space, cp, at(X), two), UsageError);
  CHECK_THROWS_AS(residuals(space, inner, at(X), two), UsageError);

  X.extents[2] = 7;
  CHECK(message_of<UsageError>([&] { static_cast<void>(predict(space, cp, at(X))); }).find("mode 2") !=
        std::string::npos);
  CHECK_THROWS_AS(predict(space, inner, at(X)), UsageError);
  X.indices[2]       = 6;
  auto const outside = at(X);
  CooTensor<double, std::uint32_t, TestSpace> const lies(Extents{4, 5, 6}, outside.indices(),
                                                         outside.values());
  CHECK_THROWS_AS(predict(space, cp, lies), UsageError);
  CHECK_THROWS_AS(errors(space, inner, lies), UsageError);
  X.extents[2] = 6;
  X.indices[2] = 5;
  CHECK_NOTHROW(predict(space, cp, at(X)));

  auto short_of_weights = cp;
  short_of_weights.weights.pop_back();
  CHECK_THROWS_AS(predict(space, short_of_weights, at(X)), UsageError);
  auto other_core = inner;
  other_core.core = make_factor_matrix<double>(space, "core", 2, 5);
  CHECK_THROWS_AS(predict(space, other_core, at(X)), UsageError);
  auto listed = cp;
  listed.rows = {StoredRows(4), StoredRows(5), StoredRows(6, {5})};
  CHECK_THROWS_AS(predict(space, listed, at(X)), UsageError);
  HostTensor const flat_places{"flat", {4, 5}, {3, 4}, {1.0}};
  CHECK_THROWS_AS(predict(space, cp, at(flat_places)), UsageError);
}

}  // namespace
}  // namespace polyad::test
