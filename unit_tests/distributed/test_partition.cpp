// SPDX-License-Identifier: BSD-3-Clause
// Grids, cuts and owners, and a communicator of one rank.
#include <limits>
#include <numeric>
#include <vector>

#include "polyad/distributed/cp_als.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {

TEST_CASE("A communicator of MPI wants MPI: built, and started", "[distributed]") {
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

TEST_CASE("Each row has one owner", "[distributed]") {
  Partition partition;
  partition.extents = Extents{10, 7, 5};
  partition.grid    = {2, 3, 2};
  partition.cuts    = {{0, 4, 10}, {0, 1, 1, 7}, {0, 3, 5}};
  REQUIRE(partition.ranks() == 12);
  for (int n = 0; n < 3; ++n) {
    std::vector<int> owners(partition.extents[n], 0);
    std::vector<std::vector<int>> numbers(static_cast<std::size_t>(of_mode(partition.grid, n)));
    for (int rank = 0; rank < 12; ++rank) {
      int const number = partition.number_among_sharers(rank, n);
      auto const owned = of_mode(partition.owned_rows(rank, n), number);
      for (count_t i = 0; i < owned; ++i) ++owners[partition.first_owned_row(rank, n) + i];
      CHECK(partition.first_owned_row(rank, n) >= partition.first_row(rank, n));
      of_mode(numbers, partition.block_of(rank, n)).push_back(number);
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
  auto const here        = cp_als(alone, share, options);
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
