// SPDX-License-Identifier: BSD-3-Clause
// Rows of 10^5 terms in floats: MTTKRPs, residual sweeps and SpTTMc are right to 1e-5. Equal terms are the
// worst, since all roundings of a sum then go the same way. One float that adds 10^5 equal terms is wrong by
// about 1e-3. Formats that add term by term are avoided by `auto`, and warn if they are named.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "formats/blco/build/find_long_rows.hpp"
#include "formats/cost_model.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/format_list.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

using Format = AnyFormat<float, TestSpace>;

/// A number between 1 and 1 + spread.
double near_one(Random& random, double spread) {
  return 1 + spread * static_cast<double>(random_below(random, 1U << 20)) / (1U << 20);
}

/// Every cell of a box. \param spread  0 for equal values
HostTensor full_box(std::vector<std::uint64_t> extents, double spread, bool is_shuffled) {
  HostTensor X;
  X.extents         = std::move(extents);
  count_t const nnz = std::accumulate(X.extents.begin(), X.extents.end(), count_t(1), std::multiplies<>());
  std::vector<count_t> cells(nnz);
  std::iota(cells.begin(), cells.end(), count_t(0));
  Random random(17);
  if (is_shuffled)
    for (count_t p = nnz - 1; p > 0; --p) std::swap(cells[p], cells[random_below(random, p + 1)]);
  X.indices.resize(nnz * X.order());
  for (count_t p = 0; p < nnz; ++p) {
    count_t cell = cells[p];
    for (std::size_t n = X.order(); n-- > 0; cell /= X.extents[n])
      X.indices[p * X.order() + n] = cell % X.extents[n];
    X.values.push_back(static_cast<float>(spread > 0 ? near_one(random, spread) : 1.1));
  }
  return X;
}

/// All numbers of a column are equal, unless there is a spread. They are floats.
HostFactors factors_of(HostTensor const& X, std::size_t rank, double spread, double size) {
  Random random(3);
  HostFactors factors;
  for (auto const rows : X.extents) {
    HostMatrix matrix(rows, rank);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t r = 0; r < rank; ++r)
        matrix(i, r) = static_cast<float>(size * (1.03 + 0.01 * static_cast<double>(r % 7)) *
                                          (spread > 0 ? near_one(random, spread) : 1.0));
    factors.push_back(std::move(matrix));
  }
  return factors;
}

/// The largest relative error.
double error_of(std::vector<double> const& actual, OracleSums const& expected) {
  REQUIRE(actual.size() == expected.value.size());
  double error = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (expected.value[i] != 0)
      error = std::max(error, std::abs(actual[i] / static_cast<double>(expected.value[i]) - 1));
  return error;
}

/// The formats that keep the digits of rows of so many terms, those with options in several variants.
std::vector<std::string> formats_with_digits(std::uint64_t longest) {
  std::vector<std::string> list = list_of_formats();
  std::erase_if(list, [&](std::string const& name) {
    return detail::loses_digits(*detail::find_format_costs(name), is_device_space<TestSpace>, sizeof(float),
                                {longest, 0});
  });
  list.insert(list.end(), {"sorted:deterministic", "f-coo:threadlen=16"});
  if (!is_device_space<TestSpace>)
    list.insert(list.end(), {"alto:chunks=1", "alto:chunks=3", "alto:chunks=16",
                             "alto:chunks=5,most_private_rows=1", "alto:chunks=4,alto_order"});
  return list;
}

Format build(HostTensor const& X, std::string const& format) {
  AnyFormatOptions options;
  options.format     = format;
  options.duplicates = Duplicates::keep;  // a box has none
  return any_format(TestSpace(), to_device<float, std::uint32_t>(TestSpace(), X), options);
}

void expect_digits(HostTensor const& X, std::vector<std::string> const& formats, std::size_t rank,
                   double spread) {
  TestSpace const space;
  auto const factors = factors_of(X, rank, spread, 1);
  auto const A       = to_device<float>(space, factors);
  std::vector<OracleSums> expected;
  for (std::size_t n = 0; n < X.order(); ++n) expected.push_back(oracle_mttkrp(X, factors, n));
  for (auto const& name : formats) {
    auto const format = build(X, name);
    auto workspace    = format.make_workspace(space, rank);
    CHECK(format.warning().empty());
    for (std::size_t n = 0; n < X.order(); ++n)
      for (int repeated = 0; repeated < 2; ++repeated) {  // the workspace is clean the second time too
        auto const V = make_factor_matrix<float>(space, "polyad::test", X.extents[n], rank);
        mttkrp(space, format, A, static_cast<int>(n), workspace, V);
        space.fence("polyad::test");
        CAPTURE(name, X.extents, rank, spread, n, repeated);
        CHECK(error_of(flat(V), expected[n]) < 1e-5);
      }
  }
}

TEST_CASE("long rows of floats keep their digits in every format", "[formats][long_rows][figures]") {
  auto const formats = formats_with_digits(150'000);
  expect_digits(full_box({2, 250, 300}, 0, true), formats, 5, 0);
  expect_digits(full_box({300, 1, 250}, 0, false), formats, 36, 0);
  expect_digits(full_box({2, 3, 100, 150}, 0.1, true), formats, 8, 0.1);
}

TEST_CASE("a long fiber of floats keeps its digits in every format", "[formats][long_rows][figures]") {
  expect_digits(full_box({2, 1, 100'000}, 0, false), formats_with_digits(200'000), 3, 0);
}

TEST_CASE("residual sweeps over long rows of floats keep their digits", "[formats][long_rows][figures]") {
  TestSpace const space;
  for (std::size_t const rank : {4, 36}) {
    auto const X = full_box({2, 200, 250}, 0, true);
    // The model is about a tenth of the values, so no residual cancels.
    auto const C  = factors_of(X, rank, 0, std::pow(0.1 / static_cast<double>(rank), 1.0 / 3));
    auto const on = to_device<float>(space, C);
    std::vector<OracleSums> expected;
    for (std::size_t n = 0; n < X.order(); ++n) expected.push_back(oracle_residual_mttkrp(X, C, n));
    // Equal terms are the worst case, so formats that add each term to the output are left out early.
    for (auto const& name : formats_with_digits(150'000)) {
      auto const format = build(X, name);
      if (!format.supports(Capability::residual_sweep)) continue;
      auto workspace = make_residual_workspace(space, format, rank);
      for (std::size_t n = 0; n < X.order(); ++n) {
        auto const G = make_factor_matrix<float>(space, "polyad::test", X.extents[n], rank);
        residual_mttkrp(space, format, on, static_cast<int>(n), workspace, G);
        space.fence("polyad::test");
        CAPTURE(name, rank, n);
        CHECK(error_of(flat(G), expected[n]) < 1e-5);
      }
    }
  }
}

TEST_CASE("SpTTMc over long rows of floats keeps its digits", "[formats][long_rows]") {
  TestSpace const space;
  auto const X = full_box({2, 200, 250}, 0, true);
  auto const U = factors_of(X, 4, 0, 1);
  std::vector<FactorMatrix<float, TestSpace>> matrices;
  auto const on = to_device<float>(space, U);
  for (int n = 0; n < 3; ++n) matrices.push_back(on[n]);
  auto const format = build(X, "f-coo");
  for (int n = 0; n < 3; ++n) {
    auto const Y = make_spttmc_output(space, format.extents(), matrices, n);
    spttmc(space, format, matrices, n, Y);
    space.fence("polyad::test");
    CAPTURE(n);
    CHECK(error_of(flat(Y), oracle_spttmc(X, U, static_cast<std::size_t>(n))) < 1e-5);
  }
}

TEST_CASE("auto avoids formats that lose digits, and named ones warn", "[formats][long_rows]") {
  TestSpace const space;
  auto const X      = full_box({2, 1, 100'000}, 0, false);
  auto const chosen = build(X, "auto");
  CHECK_FALSE(chosen.candidates().front().loses_digits);
  CHECK(chosen.warning().empty());
  for (auto const* const name : {"coo-scratch", "coo-tiny-vec", "csf"}) {
    CAPTURE(name);
    CHECK(build(X, name).warning().find(std::string(name) + " adds the terms of a row to floats") == 0);
    CHECK(build(full_box({2, 1, 30'000}, 0, false), name).warning().empty());
    AnyFormatOptions options;
    options.format     = name;
    options.duplicates = Duplicates::keep;
    CHECK(any_format(space, to_device<double, std::uint32_t>(space, X), options).warning().empty());
  }
}

/// The stops of a chunk as they are defined: a row stops whenever it has `terms` terms more.
std::vector<std::pair<count_t, count_t>> expected_stops(std::vector<count_t> const& rows, count_t terms) {
  std::vector<std::pair<count_t, count_t>> stops;
  std::map<count_t, count_t> counts;
  for (count_t p = 0; p < rows.size(); ++p)
    if (++counts[rows[p]] == terms) {
      counts[rows[p]] = 0;
      stops.emplace_back(p + 1, rows[p]);
    }
  return stops;
}

TEST_CASE("stops of long rows come after every 255 terms of a row", "[formats][blco][long_rows]") {
  Random random(5);
  // Few rows, which are counted one by one, and many rows, of which some share a count.
  for (count_t const spread : {1, 7, 5'000'000})
    for (count_t const terms : {16, 255}) {
      std::vector<count_t> rows(5000);
      for (auto& row : rows) row = random_below(random, 4) * spread + (random_below(random, 2) == 0 ? 3 : 10);
      detail::RowRange touched;
      for (auto const row : rows) touched.include(row);
      auto const stops = detail::stops_of_chunk(touched, rows.size(), terms, [&](auto const& visit) {
        for (count_t p = 0; p < rows.size(); ++p) visit(p, rows[p]);
      });
      std::vector<std::pair<count_t, count_t>> found;
      found.reserve(stops.size());
      for (auto const& stop : stops) found.emplace_back(stop.end, stop.row);
      CAPTURE(spread, terms);
      CHECK_FALSE(found.empty());
      CHECK(found == expected_stops(rows, terms));
    }
}

}  // namespace
}  // namespace polyad::test
