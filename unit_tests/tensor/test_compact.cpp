// SPDX-License-Identifier: BSD-3-Clause
// compact against a std::set of the rows that occur, for both ways in which they are found; extents beyond
// 2^32, whose factors do not fit any machine; and wrong lists of rows.
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "polyad/tensor/compact.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

constexpr CompactRule any_empty_row{.least_rows = 0, .empty_share = 0};

std::set<std::uint64_t> occurring_rows(HostTensor const& tensor, std::size_t n) {
  std::set<std::uint64_t> rows;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) rows.insert(tensor.index(p, n));
  return rows;
}

/// Compares the result with the original, row by row.
template <class Scalar, class Index>
void expect_compact(HostTensor const& host, CompactRule const& rule) {
  CAPTURE(host.name, sizeof(Index));
  TestSpace const space;
  auto const X             = to_device<Scalar, Index>(space, host);
  auto const before        = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X.indices());
  auto const [after, rows] = compact(space, X, rule);
  std::vector<std::set<std::uint64_t>> expected;
  bool any = false;
  for (std::size_t n = 0; n < host.order(); ++n) {
    expected.push_back(occurring_rows(host, n));
    double const empty = static_cast<double>(host.extents[n] - expected[n].size());
    if (host.nnz() == 0 || host.extents[n] < rule.least_rows ||
        !(empty > rule.empty_share * static_cast<double>(host.extents[n])))
      expected[n].clear();
    any = any || !expected[n].empty();
  }
  REQUIRE(rows.empty() == !any);
  REQUIRE(after.values().data() == X.values().data());
  if (!any) {
    REQUIRE(after.indices().data() == X.indices().data());
    return;
  }
  REQUIRE(rows.size() == host.order());
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), after.indices());
  for (std::size_t n = 0; n < host.order(); ++n) {
    REQUIRE(rows[n].extent() == host.extents[n]);
    REQUIRE(rows[n].is_list() == !expected[n].empty());
    REQUIRE(after.extents()[static_cast<int>(n)] == rows[n].size());
    if (rows[n].is_list())
      REQUIRE(rows[n].numbers() == std::vector<std::uint64_t>(expected[n].begin(), expected[n].end()));
    bool same = true;
    for (std::size_t p = 0; p < host.nnz(); ++p) {
      same = same && rows[n].number(indices(p, n)) == host.index(p, n);
      same = same && before(p, n) == host.index(p, n);  // X itself stays
    }
    REQUIRE(same);
  }
}

/// Nonzeros in few rows of modes of these lengths.
HostTensor scattered(std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(nnz);
  auto tensor = random_tensor(random, extents, nnz);
  tensor.name = "scattered";
  for (std::size_t n = 0; n < extents.size(); ++n) {  // the ends of the modes, too
    tensor.indices[n]                  = 0;
    tensor.indices[extents.size() + n] = extents[n] - 1;
  }
  return tensor;
}

}  // namespace

TEST_CASE("compact: every kind of tensor, orders 1 to 16", "[tensor]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : all_kinds)
      expect_compact<double, std::uint32_t>(small_tensor(kind, order), any_empty_row);
  for (Kind const kind : all_kinds) {
    expect_compact<float, std::uint32_t>(small_tensor(kind, 3), any_empty_row);
    expect_compact<float, std::uint64_t>(small_tensor(kind, 3), any_empty_row);
    expect_compact<double, std::uint64_t>(small_tensor(kind, 3), any_empty_row);
  }
}

TEST_CASE("compact: rows found by bits and by sorting", "[tensor]") {
  for (std::size_t const nnz : {2U, 3U, 31U, 1000U})
    for (std::uint64_t const extent :
         {31U, 32U, 33U, 63U, 64U, 65U, 1999U, 63999U, 64000U, 64064U, 1U << 20}) {
      expect_compact<double, std::uint32_t>(scattered({extent, 2, 40}, nnz), any_empty_row);
      expect_compact<float, std::uint64_t>(scattered({3, extent}, nnz), any_empty_row);
    }
}

TEST_CASE("compact: extents of 2^31 and beyond", "[tensor]") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  expect_compact<double, std::uint32_t>(scattered({1ULL << 31, 4294967295ULL, 2}, 100), {});
  expect_compact<double, std::uint64_t>(scattered({1ULL << 32, 1ULL << 63, most, 2}, 100), {});
}

TEST_CASE("compact: the rule is of the tensor alone", "[tensor]") {
  TestSpace const space;
  auto const lists = [&](std::uint64_t extent, std::uint64_t rows) {
    HostTensor tensor{"rows", {extent, 1}, {}, std::vector<double>(rows, 1)};
    for (std::uint64_t i = 0; i < rows; ++i) tensor.indices.insert(tensor.indices.end(), {i, 0});
    return !compact(space, to_device<double, std::uint32_t>(space, tensor)).rows.empty();
  };
  REQUIRE(lists(1'000'000, 499'999));
  REQUIRE_FALSE(lists(1'000'000, 500'000));  // half of them is not more than half
  REQUIRE_FALSE(lists(999'999, 3));
  REQUIRE(lists(1'000'000, 3));
}

TEST_CASE("compact refuses coordinates outside", "[tensor]") {
  for (std::uint64_t const extent : {40U, 100'000U}) {  // by bits and by sorting
    std::vector<std::uint32_t> indices{0, static_cast<std::uint32_t>(extent), 1};
    auto const message = message_of<UsageError>([&] {
      (void)compact_coordinates(std::span(indices), Extents{static_cast<count_t>(extent)}, any_empty_row);
    });
    REQUIRE(message == "a nonzero has an index outside of mode 0 of " + std::to_string(extent) + " rows");
  }
}

TEST_CASE("compact_coordinates changes the list in place", "[tensor]") {
  std::vector<std::uint64_t> indices{5, 0, 9'000'000'000'000, 1, 5, 1};
  auto const rows = compact_coordinates(std::span(indices), Extents{10'000'000'000'000, 2});
  REQUIRE(indices == std::vector<std::uint64_t>{0, 0, 1, 1, 0, 1});
  REQUIRE(rows[0].numbers() == std::vector<std::uint64_t>{5, 9'000'000'000'000});
  REQUIRE(rows[1] == StoredRows(2));
  REQUIRE(compact_extents(Extents{10'000'000'000'000, 2}, rows) == Extents{2, 2});
  REQUIRE_THROWS_AS(compact_extents(Extents{10, 2}, rows), UsageError);
  REQUIRE_THROWS_AS(compact_extents(Extents{10}, rows), UsageError);
}

TEST_CASE("stored rows: positions and numbers", "[tensor]") {
  StoredRows const list(100, {3, 7, 99});
  REQUIRE(list.size() == 3);
  REQUIRE(list.position(3) == 0);
  REQUIRE(list.position(99) == 2);
  for (std::uint64_t const row : {0U, 4U, 98U, 100U}) REQUIRE(list.position(row) == StoredRows::none);
  StoredRows const all(5);
  REQUIRE(all.size() == 5);
  REQUIRE(all.position(4) == 4);
  REQUIRE(all.position(5) == StoredRows::none);
  REQUIRE_FALSE(all == StoredRows(5, {0, 1, 2, 3, 4}));
  REQUIRE_THROWS_AS(StoredRows(5, {1, 1}), UsageError);
  REQUIRE_THROWS_AS(StoredRows(5, {2, 1}), UsageError);
  REQUIRE_THROWS_AS(StoredRows(5, {1, 5}), UsageError);
}

TEST_CASE("stored rows start with the numbers of the original rows", "[tensor]") {
  TestSpace const space;
  std::vector<StoredRows> const rows{StoredRows(1ULL << 40, {2, 1ULL << 39}), StoredRows(3)};
  FactorMatrices<double, TestSpace> const factors(space, {2, 3}, 4);
  fill_random(space, factors, rows, 11);
  for (int n = 0; n < 2; ++n) {
    auto const numbers = flat(factors[n]);
    for (count_t i = 0; i < factors[n].extent(0); ++i)
      for (count_t r = 0; r < 4; ++r)
        REQUIRE(numbers[i * 4 + r] ==
                counter_uniform(11, static_cast<std::uint64_t>(n), rows[n].number(i), r));
  }
  REQUIRE_THROWS_AS(fill_random(space, factors, {StoredRows(2)}, 11), UsageError);
  REQUIRE_THROWS_AS(fill_random(space, factors, {StoredRows(3), StoredRows(3)}, 11), UsageError);
}

TEST_CASE("rows are looked up in another list, and are zero if it lacks them", "[tensor]") {
  TestSpace const space;
  auto const A = make_factor_matrix<float>(space, "A", 3, 2);
  from_host<float>(space, {1, 2, 3, 4, 5, 6}, A);
  StoredRows const list(10, {1, 4, 9});
  auto const found = flat(look_up_rows<float, TestSpace>(space, A, list, StoredRows(10, {0, 4, 5, 9})));
  REQUIRE(found == std::vector<double>{0, 0, 3, 4, 0, 0, 5, 6});
  auto const all = flat(look_up_rows<float, TestSpace>(space, A, list, StoredRows(10)));
  REQUIRE(all == std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6});
  REQUIRE_THROWS_AS((look_up_rows<float, TestSpace>(space, A, list, StoredRows(11))), UsageError);
  REQUIRE_THROWS_AS((look_up_rows<float, TestSpace>(space, A, StoredRows(10), list)), UsageError);
}

}  // namespace polyad::test
