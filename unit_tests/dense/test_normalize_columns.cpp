// SPDX-License-Identifier: BSD-3-Clause
// normalize_columns: weights, columns and Gram matrix.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "dense/normalize_columns.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

GramMatrix<TestSpace> device_gram(HostMatrix const& A) {
  std::size_t const rank = A.columns;
  GramMatrix<TestSpace> const G("gram", rank, rank);
  auto const host     = Kokkos::create_mirror_view(G);
  auto const expected = oracle_product_of_transposed(A, A);
  for (std::size_t e = 0; e < rank * rank; ++e)
    host(e / rank, e % rank) = static_cast<double>(expected.value[e]);
  Kokkos::deep_copy(G, host);
  return G;
}

bool close(long double actual, long double expected, long double relative) {
  return std::abs(actual - expected) <= relative * std::abs(expected);
}

template <class Scalar>
void expect_normalized(HostMatrix const& host, RowLayout layout) {
  std::size_t const rank = host.columns;
  CAPTURE(host.rows, rank, static_cast<int>(layout), sizeof(Scalar));
  TestSpace const space;
  WatchedMatrix<Scalar> const A(space, layout, host, nan_value);
  auto const G       = device_gram(host);
  auto const weights = to_device(std::vector<double>(rank, nan_value));
  auto const before  = oracle_product_of_transposed(host, host);
  normalize_columns(space, A.matrix(), G, weights);
  space.fence("polyad::test");
  auto const actual_A = A.read();
  auto const actual_G = flat(G);
  auto const actual_w = flat(weights);
  CHECK(A.trespasses() == 0);
  // The Gram matrix was rounded to double (1 rounding), then a square root of it (half of it, and 1).
  auto const norm = [&](std::size_t r) { return std::sqrt(before.value[r * rank + r]); };
  for (std::size_t r = 0; r < rank; ++r) CHECK(close(actual_w[r], norm(r), gamma<double>(2)));
  bool good_A = true;
  for (std::size_t e = 0; e < actual_A.size(); ++e) {
    std::size_t const r = e % rank;
    // The weight is rounded to Scalar and the quotient is rounded.
    good_A = good_A && (norm(r) == 0 ? actual_A[e] == host.data[e]
                                     : close(actual_A[e], host.data[e] / norm(r), gamma<Scalar>(4)));
  }
  CHECK(good_A);
  bool good_G = true;
  for (std::size_t e = 0; e < rank * rank; ++e) {
    long double const norms = norm(e / rank) * norm(e % rank);
    good_G = good_G &&
             (norms == 0 ? actual_G[e] == 0 : close(actual_G[e], before.value[e] / norms, gamma<double>(8)));
  }
  CHECK(good_G);
}

TEST_CASE("normalise: all shapes and layouts", "[dense]") {
  for (RowLayout const layout : all_layouts)
    for (std::size_t const rank : {1, 3, 16, 17, 33, 130}) {
      for (std::size_t const rows : {1, 63, 64, 65, 300}) {
        Random random(rank + rows);
        auto const host = random_matrix(random, rows, rank);
        expect_normalized<float>(host, layout);
        expect_normalized<double>(host, layout);
      }
    }
  expect_normalized<double>(HostMatrix(0, 5), RowLayout::padded);
}

TEST_CASE("normalise: a column of zeros gets weight 0 and stays", "[dense]") {
  Random random(1);
  auto host = random_matrix(random, 70, 6);
  for (std::size_t i = 0; i < 70; ++i) host(i, 0) = host(i, 4) = 0;
  expect_normalized<float>(host, RowLayout::padded);
  expect_normalized<double>(host, RowLayout::padded);
  expect_normalized<double>(HostMatrix(70, 6), RowLayout::padded);  // nothing but zeros
}

TEST_CASE("normalise: very long and very short columns", "[dense]") {
  Random random(1);
  auto host = random_matrix(random, 40, 3);
  for (std::size_t i = 0; i < 40; ++i) {
    host(i, 0) *= 0x1p100;
    host(i, 1) *= 0x1p-100;
  }
  expect_normalized<float>(host, RowLayout::padded);
  expect_normalized<double>(host, RowLayout::padded);
}

TEST_CASE("normalise: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  auto const A = make_factor_matrix<double>(space, "polyad::test", 9, 5);
  using Gram   = GramMatrix<TestSpace>;
  auto const w = [](std::size_t size) { return to_device(std::vector<double>(size)); };
  CHECK_THROWS_AS(normalize_columns(space, A, Gram("G", 5, 4), w(5)), UsageError);
  CHECK_THROWS_AS(normalize_columns(space, A, Gram("G", 4, 4), w(5)), UsageError);
  CHECK_THROWS_AS(normalize_columns(space, A, Gram("G", 5, 5), w(4)), UsageError);
}

}  // namespace
}  // namespace polyad::test
