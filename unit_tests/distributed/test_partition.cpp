// SPDX-License-Identifier: BSD-3-Clause
// Grids, cuts and owners, and a communicator of one rank.
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "distributed/cut_mode.hpp"
#include "distributed/random_order.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/distributed/distribute.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {

TEST_CASE("A communicator of MPI requires MPI: built, and started", "[distributed]") {
  if (mpi_is_built())
    CHECK_THROWS_AS(mpi_communicator(TestSpace()), BackendError);
  else
    CHECK_THROWS_AS(mpi_communicator(TestSpace()), UsageError);
}

TEST_CASE("The grid that sends least", "[distributed]") {
  CHECK(cheapest_grid(Extents{100, 100, 100}, 8) == ProcessGrid{2, 2, 2});
  CHECK(cheapest_grid(Extents{1000000, 10, 10}, 6) == ProcessGrid{6, 1, 1});
  CHECK(cheapest_grid(Extents{7, 9}, 1) == ProcessGrid{1, 1});
  // 2 ((4 / 2 - 1) 100 + (4 / 2 - 1) 10)
  CHECK(words_of_grid(Extents{100, 10}, {2, 2}) == 220);
  CHECK(words_of_grid(Extents{100, 10}, {4, 1}) == 60);
  // Against all grids of three modes.
  Extents const extents{37, 900, 210};
  double least = std::numeric_limits<double>::infinity();
  for (int a = 1; a <= 24; ++a)
    for (int b = 1; b <= 24; ++b)
      if (24 % (a * b) == 0) least = std::min(least, words_of_grid(extents, {a, b, 24 / (a * b)}));
  CHECK(words_of_grid(extents, cheapest_grid(extents, 24)) == least);
  CHECK_THROWS_AS(cheapest_grid(extents, 0), UsageError);
  CHECK_THROWS_AS(words_of_grid(extents, {2, 2}), UsageError);
}

TEST_CASE("Modes are cut by nonzeros", "[distributed]") {
  std::vector<count_t> const one_long{100, 1, 1, 1, 1};
  CHECK(balanced_cuts(one_long, 2) == std::vector<count_t>{0, 1, 5});
  CHECK(balanced_cuts(std::vector<count_t>{1, 1, 1, 1}, 2) == std::vector<count_t>{0, 2, 4});
  CHECK(balanced_cuts(std::vector<count_t>{0, 0, 0, 0}, 2) == std::vector<count_t>{0, 2, 4});
  CHECK(balanced_cuts(std::vector<count_t>{5}, 3).size() == 4);
  CHECK(balanced_cuts({}, 3) == std::vector<count_t>{0, 0, 0, 0});
  for (int parts : {1, 2, 3, 7, 50}) {
    std::vector<count_t> counts;
    for (count_t i = 0; i < 40; ++i) counts.push_back(i * 7 % 11);
    auto const cuts = balanced_cuts(counts, parts);
    REQUIRE(cuts.size() == static_cast<std::size_t>(parts) + 1);
    CHECK(cuts.front() == 0);
    CHECK(cuts.back() == 40);
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      REQUIRE(cuts[k] <= cuts[k + 1]);
      // A part is at most a row's nonzeros larger than its share.
      count_t sum = 0;
      for (count_t i = cuts[k]; i < cuts[k + 1]; ++i) sum += counts[i];
      count_t const total = std::accumulate(counts.begin(), counts.end(), count_t(0));
      CHECK(sum <= total / static_cast<count_t>(parts) + 11);
    }
  }
}

TEST_CASE("Modes are cut by buckets as by rows", "[distributed]") {
  RankGroup const alone;
  std::mt19937_64 random(7);
  for (int run = 0; run < 300; ++run) {
    count_t const rows = random() % 300 + 1;
    count_t const nnz  = run % 10 == 0 ? 0 : random() % 2000;
    std::vector<count_t> of_nonzeros, counts(rows, 0);
    for (count_t p = 0; p < nnz; ++p) {
      // Some rows have most of the nonzeros.
      count_t const row = run % 3 == 0 ? random() % rows : random() % (random() % rows + 1);
      of_nonzeros.push_back(row);
      ++counts[row];
    }
    auto const row_of = [&](count_t p) { return of_nonzeros[p]; };
    for (int const parts : {1, 2, 3, 7, 64})
      for (count_t const buckets : {2, 5, 64, 1 << 16}) {
        CAPTURE(run, rows, nnz, parts, buckets);
        CHECK(detail::cut_rows(alone, rows, nnz, row_of, parts, buckets) == balanced_cuts(counts, parts));
      }
  }
  // More rows than any memory has room for.
  count_t const rows = ~count_t(0);
  auto const row_of  = [&](count_t p) { return rows / 4 * p; };
  CHECK(detail::cut_rows(alone, rows, 4, row_of, 2) == std::vector<count_t>{0, rows / 4 * 2, rows});
}

TEST_CASE("The random order of rows is one to one", "[distributed]") {
  for (count_t const rows : {1, 2, 3, 4, 5, 15, 16, 17, 100, 255, 256, 257, 1000, 4097}) {
    detail::RandomOrder const order(rows, 1);
    std::vector<bool> met(rows, false);
    count_t moved = 0;
    for (count_t label = 0; label < rows; ++label) {
      count_t const row = order.row(label);
      REQUIRE(row < rows);
      REQUIRE_FALSE(met[row]);
      met[row] = true;
      REQUIRE(order.label(row) == label);
      moved += row == label ? 0 : 1;
    }
    if (rows > 50) CHECK(moved > rows / 2);
  }
  // Neighbours are not kept together: of 1,000 pairs of labels few have rows nearer than 10,000 of a million.
  detail::RandomOrder const million(1000000, 0);
  int near = 0;
  for (count_t label = 0; label < 1000; ++label) {
    auto const a = static_cast<double>(million.row(label));
    auto const b = static_cast<double>(million.row(label + 1));
    near += std::abs(a - b) < 10000 ? 1 : 0;
  }
  CHECK(near < 60);  // 20 are expected
  count_t const most = ~count_t(0);
  detail::RandomOrder const largest(most, 2);
  for (count_t const row : {count_t(0), count_t(12345), most - 1})
    CHECK(largest.label(largest.row(row)) == row);
  // Modes have orders of their own.
  detail::RandomOrder const other(1000000, 1);
  CHECK(other.row(5) != million.row(5));
}

TEST_CASE("Each row has one owner", "[distributed]") {
  Partition partition;
  partition.extents = Extents{10, 7, 5};
  partition.grid    = {2, 3, 2};
  partition.cuts    = {{0, 4, 10}, {0, 1, 1, 7}, {0, 3, 5}};
  REQUIRE(partition.ranks() == 12);
  for (int n = 0; n < 3; ++n) {
    std::vector<int> owners(partition.extents[n], 0);
    std::vector<std::vector<int>> numbers(static_cast<std::size_t>(partition.grid[n]));
    for (int rank = 0; rank < 12; ++rank) {
      int const number = partition.number_among_sharers(rank, n);
      auto const owned = partition.owned_rows(rank, n)[number];
      for (count_t i = 0; i < owned; ++i) ++owners[partition.first_owned_row(rank, n) + i];
      CHECK(partition.first_owned_row(rank, n) >= partition.first_row(rank, n));
      numbers[partition.block_of(rank, n)].push_back(number);
    }
    for (int const count : owners) CHECK(count == 1);
    // The sharers of a range are numbered in the order of the ranks.
    for (auto const& of_block : numbers) {
      REQUIRE(of_block.size() == static_cast<std::size_t>(partition.sharers(n)));
      for (std::size_t k = 0; k < of_block.size(); ++k) CHECK(of_block[k] == static_cast<int>(k));
    }
  }
  // Row-major: rank = (c_0 3 + c_1) 2 + c_2.
  CHECK(partition.block_of(9, 0) == 1);
  CHECK(partition.block_of(9, 1) == 1);
  CHECK(partition.block_of(9, 2) == 1);
}

TEST_CASE("One rank without MPI has the whole tensor", "[distributed]") {
  TestSpace const space;
  Communicator<TestSpace> const alone(space);
  CHECK(alone.size() == 1);
  CHECK(std::string(alone.data().name()) == "self");
  std::vector<std::uint32_t> const indices{0, 0, 1, 2, 1, 2, 2, 1};
  std::vector<double> const values{1, 2, 3, 4};
  auto const share = distribute<double>(alone, Extents{3, 3}, std::span<std::uint32_t const>(indices),
                                        std::span<double const>(values));
  CHECK(share.nnz == 3);
  CHECK(share.duplicates == 1);
  CHECK(share.norm_squared == 1 + 25 + 16);
  CpAlsOptions options;
  options.rank           = 2;
  options.max_iterations = 5;
  options.tolerance      = 0;
  auto const here        = cp_als(space, tensor_by_rank(alone, share, format_options(options)), options);
  auto const usual       = cp_als(space, share.block, options);
  REQUIRE(here.history.size() == usual.history.size());
  for (std::size_t k = 0; k < 5; ++k) CHECK(here.history[k].fit == usual.history[k].fit);
  CHECK(alone.data().words_sent() == 0);

  std::vector<std::uint32_t> const outside{0, 3};
  CHECK_THROWS_AS(distribute<double>(alone, Extents{3, 3}, std::span<std::uint32_t const>(outside),
                                     std::span<double const>(values).first(1)),
                  UsageError);
  PartitionOptions other;
  other.grid = {2, 1};
  CHECK_THROWS_AS(distribute<double>(alone, Extents{3, 3}, std::span<std::uint32_t const>(indices),
                                     std::span<double const>(values), other),
                  UsageError);
}

}  // namespace polyad::test
