// SPDX-License-Identifier: BSD-3-Clause
// solve_rows against the oracle.
#include <Kokkos_Core.hpp>
#include <vector>

#include "dense/update/solve_rows.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
void expect_solved(std::size_t rows, std::size_t rank, RowLayout layout_V, RowLayout layout_inverse,
                   RowLayout layout_A) {
  CAPTURE(rows, rank, static_cast<int>(layout_V), static_cast<int>(layout_inverse),
          static_cast<int>(layout_A), sizeof(Scalar));
  TestSpace const space;
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Random random(1000 * rank + rows);
  auto const host_V       = random_matrix(random, rows, rank);
  auto const host_inverse = random_matrix(random, rank, rank);  // not symmetric: a transposed read shows
  WatchedMatrix<Scalar> const V(space, layout_V, host_V, nan);
  WatchedMatrix<Scalar> const inverse(space, layout_inverse, host_inverse, nan);
  WatchedMatrix<Scalar> const A(space, layout_A, rows, rank);
  solve_rows(space, V.matrix(), inverse.matrix(), A.matrix());
  space.fence("polyad::test");
  CHECK(violation<Scalar>(oracle_product(host_V, host_inverse), A.read(), 2) == "");
  CHECK(A.trespasses() == 0);
}

TEST_CASE("solve rows: every edge of the rank table, all layouts", "[dense]") {
  std::size_t count = 0;
  for (std::size_t const rank : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129, 300})
    for (RowLayout const layout : kernel_layouts<TestSpace>) {
      RowLayout const other = kernel_layout<TestSpace>(count++);
      expect_solved<float>(21, rank, other, layout, layout);
      expect_solved<double>(21, rank, other, layout, layout);
    }
  expect_solved<double>(21, 33, RowLayout::padded, RowLayout::padded, kernel_layout<TestSpace>(3));
  expect_solved<double>(21, 33, RowLayout::padded, kernel_layout<TestSpace>(3), RowLayout::padded);
}

TEST_CASE("solve rows: by a BLAS, on every backend", "[dense][strategies]") {
  TestSpace const space;
  for (std::size_t const rows : {0, 1, 65, 300})
    for (std::size_t const rank : {2, 33, 64, 130}) {
      Random random(rank + rows);
      auto const host_V = random_matrix(random, rows, rank);
      auto const host_W = random_matrix(random, rank, rank);
      WatchedMatrix<double> const V(space, RowLayout::padded, host_V, nan_value);
      WatchedMatrix<double> const W(space, RowLayout::padded, host_W, nan_value);
      WatchedMatrix<double> const A(space, RowLayout::wide, rows, rank);
      blas_product(space, V.matrix(), W.matrix(), A.matrix());
      space.fence("polyad::test");
      CHECK(violation<double>(oracle_product(host_V, host_W), A.read(), 2) == "");
      CHECK(A.trespasses() == 0);
    }
}

/// That D, a matrix of doubles, becomes A' B times the number that `multiply(A, B, D)` returns. Many shapes.
template <class Scalar, class Multiply>
void expect_transposed_products(Multiply const& multiply) {
  TestSpace const space;
  for (std::size_t const rows : {1, 65, 300})
    for (std::size_t const J : {2, 17, 130})
      for (std::size_t const rank : {2, 16, 65}) {
        CAPTURE(rows, J, rank);
        Random random(rank + rows);
        auto const host_A = random_matrix(random, rows, J);
        auto const host_B = random_matrix(random, rows, rank);
        WatchedMatrix<Scalar> const A(space, RowLayout::wide, host_A, nan_value);
        WatchedMatrix<Scalar> const B(space, RowLayout::padded, host_B, nan_value);
        WatchedMatrix<double> const D(space, RowLayout::wide, J, rank);
        double const scale = multiply(A.matrix(), B.matrix(), D.matrix());
        space.fence("polyad::test");
        auto product = D.read();
        for (auto& entry : product) entry /= scale;
        CHECK(violation<Scalar, double>(oracle_product_of_transposed(host_A, host_B), product, 2) == "");
        CHECK(D.trespasses() == 0);
      }
}

TEST_CASE("transposed product: by a BLAS, on every backend", "[dense][strategies]") {
  expect_transposed_products<double>([](auto const& A, auto const& B, auto const& D) {
    blas_transposed_product(TestSpace(), 0.5, A, B, D);
    return 0.5;
  });
}

TEST_CASE("transposed product: floats by a BLAS of doubles, on every backend", "[dense][strategies]") {
  for (std::size_t const rows_at_a_time : {1, 64, 1000}) {
    CAPTURE(rows_at_a_time);
    expect_transposed_products<float>([&](auto const& A, auto const& B, auto const& D) {
      Kokkos::View<double*, TestSpace::device_type> const scratch(
          "polyad::test", rows_at_a_time * (A.extent(1) + B.extent(1)));
      Kokkos::deep_copy(TestSpace(), scratch, nan_value);
      blas_transposed_product(TestSpace(), A, B, scratch, D);
      return 1.0;
    });
  }
}

TEST_CASE("solve rows: every remainder of the rows that a thread takes", "[dense]") {
  for (std::size_t const rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 64, 65, 127, 128, 129, 513, 5003}) {
    expect_solved<float>(rows, 6, RowLayout::padded, RowLayout::padded, RowLayout::padded);
    expect_solved<double>(rows, 37, RowLayout::padded, RowLayout::padded, RowLayout::padded);
  }
}

TEST_CASE("solve rows: a NaN stays in its row", "[dense]") {
  TestSpace const space;
  Random random(1);
  auto host_V  = random_matrix(random, 9, 5);
  host_V(6, 2) = std::numeric_limits<double>::quiet_NaN();
  WatchedMatrix<double> const V(space, RowLayout::padded, host_V);
  WatchedMatrix<double> const inverse(space, RowLayout::padded, random_matrix(random, 5, 5));
  WatchedMatrix<double> const A(space, RowLayout::padded, 9, 5);
  solve_rows(space, V.matrix(), inverse.matrix(), A.matrix());
  auto const entries = A.read();
  for (std::size_t e = 0; e < entries.size(); ++e) CHECK(std::isnan(entries[e]) == (e / 5 == 6));
}

TEST_CASE("solve rows: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  auto const make = [&](count_t rows, count_t rank) {
    return make_factor_matrix<double>(space, "polyad::test", rows, rank);
  };
  CHECK_THROWS_AS(solve_rows(space, make(9, 4), make(5, 5), make(9, 5)), UsageError);
  CHECK_THROWS_AS(solve_rows(space, make(9, 5), make(5, 5), make(9, 4)), UsageError);
  CHECK_THROWS_AS(solve_rows(space, make(9, 5), make(5, 5), make(8, 5)), UsageError);
  CHECK_THROWS_AS(solve_rows(space, make(9, 5), make(5, 6), make(9, 5)), UsageError);
}

}  // namespace
}  // namespace polyad::test
