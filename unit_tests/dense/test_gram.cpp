// SPDX-License-Identifier: BSD-3-Clause
// gram against the oracle.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "dense/gram.hpp"
#include "dense/gram_by_parts.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

/// What the machine takes.
struct AutomaticGram {};

/// G of a matrix, from an output of NaN.
template <class Scalar, class Strategy = AutomaticGram>
std::vector<double> gram_of(FactorMatrix<Scalar, TestSpace> const& matrix) {
  TestSpace const space;
  count_t const rank = matrix.extent(1);
  GramWorkspace<TestSpace> const workspace(space, rank);
  Kokkos::deep_copy(workspace.partials(), nan_value);
  GramMatrix<TestSpace> const G("gram", rank, rank);
  Kokkos::deep_copy(G, nan_value);
  if constexpr (std::is_same_v<Strategy, AutomaticGram>)
    gram(space, matrix, workspace, G);
  else
    gram_by(Strategy(), space, matrix, workspace, G);
  space.fence("polyad::test");
  return flat(G);
}

template <class Scalar, class Strategy = AutomaticGram>
void expect_gram(std::size_t rows, std::size_t rank, RowLayout layout) {
  CAPTURE(rows, rank, static_cast<int>(layout), sizeof(Scalar));
  Random random(1000 * rank + rows);
  auto const host = random_matrix(random, rows, rank);
  auto const actual =
      gram_of<Scalar, Strategy>(WatchedMatrix<Scalar>(TestSpace(), layout, host, nan_value).matrix());
  // Summed in double whatever the scalar; the products of two numbers of the tests are exact in double.
  // Floats over up to 32 rows may have an error of 1e-6: 16 roundings of floats.
  constexpr auto roundings = std::is_same_v<Strategy, GramInFloats> ? std::size_t(16) << 29 : std::size_t(1);
  CHECK(violation<double>(oracle_product_of_transposed(host, host), actual, roundings) == "");
  bool symmetric = true;
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < i; ++j) symmetric = symmetric && actual[i * rank + j] == actual[j * rank + i];
  CHECK(symmetric);
}

TEST_CASE("gram: every edge of its blocks, all layouts", "[dense]") {
  std::size_t count = 0;
  for (std::size_t const rank :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 129, 300}) {
    RowLayout const layout = all_layouts[count++ % all_layouts.size()];
    expect_gram<float>(rank < 100 ? 333 : 65, rank, layout);
    expect_gram<double>(rank < 100 ? 333 : 65, rank, layout);
  }
}

TEST_CASE("gram: each strategy on every backend", "[dense][strategies][figures]") {
  std::size_t count = 0;
  for (std::size_t const rank : {1, 7, 8, 9, 33, 63, 64, 65, 72, 128, 130, 200})
    for (std::size_t const rows : {0, 1, 31, 32, 33, 500}) {
      RowLayout const layout = all_layouts[count++ % all_layouts.size()];
      expect_gram<float, GramByParts>(rows, rank, layout);
      expect_gram<float, GramInFloats>(rows, rank, layout);
      expect_gram<double, GramByParts>(rows, rank, layout);
      expect_gram<float, GramByRows>(rows, rank, layout);
      expect_gram<double, GramByBlas>(rows, rank, layout);
    }
}

TEST_CASE("gram: every edge of its chunks and tiles of rows", "[dense]") {
  for (std::size_t const rows : {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 4099, 20011})
    for (RowLayout const layout : all_layouts) {
      expect_gram<float>(rows, 5, layout);
      expect_gram<double>(rows, 17, layout);
    }
}

TEST_CASE("gram: the same bits in every run", "[dense]") {
  Random random(1);
  WatchedMatrix<float> const matrix(TestSpace(), RowLayout::padded, random_matrix(random, 5000, 33));
  auto const first = gram_of<float>(matrix.matrix());
  for (int run = 0; run < 5; ++run) CHECK((gram_of<float>(matrix.matrix()) == first));
}

TEST_CASE("gram: all threads of a host share few chunks, and the bits do not change", "[dense]") {
  Random random(2);
  count_t const rank = 300;
  WatchedMatrix<double> const matrix(TestSpace(), RowLayout::padded, random_matrix(random, 50, rank));
  TestSpace const space;
  GramWorkspace<TestSpace> const workspace(space, rank);
  auto kernel =
      make_gram_of_chunk<TestSpace, double, widest_gram_block<TestSpace>>(matrix.matrix(), workspace, 1);
  int const most = gram_teams(space, kernel, 1);
  if (shares_gram_chunks<TestSpace>)
    CHECK(most >= std::min(4 * space.concurrency(), 16));
  else
    CHECK(most == 1);
  std::vector<double> first;
  for (int const teams : {1, 2, 3, 7, most}) {
    if (!shares_gram_chunks<TestSpace> && teams > 1) continue;
    CAPTURE(teams);
    Kokkos::deep_copy(workspace.partials(), nan_value);
    kernel.teams = teams;
    Kokkos::parallel_for("polyad::test", gram_policy(space, kernel, static_cast<count_t>(teams)), kernel);
    GramMatrix<TestSpace> const G("gram", rank, rank);
    sum_chunks(space, workspace, G, 1);
    space.fence("polyad::test");
    if (first.empty())
      first = flat(G);
    else
      CHECK((flat(G) == first));
  }
  CHECK((first == gram_of<double>(matrix.matrix())));
}

TEST_CASE("gram: one NaN reaches its own row and column only", "[dense]") {
  Random random(1);
  auto host         = random_matrix(random, 100, 9);
  host(50, 4)       = nan_value;
  auto const actual = gram_of<double>(WatchedMatrix<double>(TestSpace(), RowLayout::padded, host).matrix());
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 9; ++j) CHECK(std::isnan(actual[i * 9 + j]) == (i == 4 || j == 4));
}

TEST_CASE("gram: what does not match or fit is refused", "[dense]") {
  TestSpace const space;
  GramWorkspace<TestSpace> const workspace(space, 5);
  auto const matrix = make_factor_matrix<double>(space, "polyad::test", 10, 5);
  CHECK_THROWS_AS(gram(space, matrix, workspace, GramMatrix<TestSpace>("G", 5, 4)), UsageError);
  CHECK_THROWS_AS(gram(space, matrix, workspace, GramMatrix<TestSpace>("G", 4, 5)), UsageError);
  // A workspace for fewer columns, and for more, than the matrix has.
  for (count_t const other : {1, 9, 40}) {
    GramWorkspace<TestSpace> const wrong(space, other);
    auto const matrix = make_factor_matrix<double>(space, "polyad::test", 10, 5);
    GramMatrix<TestSpace> const G("polyad::test", 5, 5);
    CHECK_THROWS_AS(gram(space, matrix, wrong, G), UsageError);
  }
  CHECK_THROWS_AS(GramWorkspace<TestSpace>(space, (count_t(1) << 20) - 1), MemoryError);
}

}  // namespace
}  // namespace polyad::test
