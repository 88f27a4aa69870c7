// SPDX-License-Identifier: BSD-3-Clause
// intermediates against the oracle.
#include "dense/intermediates.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
void expect_product(std::size_t rows, std::size_t inner, std::size_t columns, RowLayout layout) {
  CAPTURE(rows, inner, columns, static_cast<int>(layout), sizeof(Scalar));
  TestSpace const space;
  Random random(rows + 100 * inner + 10000 * columns);
  auto const host_A = random_matrix(random, rows, inner);
  auto const host_B = random_matrix(random, inner, columns);
  WatchedMatrix<Scalar> const A(space, layout, host_A, nan_value);
  WatchedMatrix<Scalar> const B(space, layout, host_B, nan_value);
  WatchedMatrix<Scalar> const C(space, layout, rows, columns);  // NaN, which must not stay
  intermediates(space, A.matrix(), B.matrix(), C.matrix());
  space.fence("polyad::test");
  CHECK(violation<Scalar>(oracle_product(host_A, host_B), C.read(), 2) == "");
  CHECK(C.trespasses() == 0);
}

TEST_CASE("intermediates: all shapes and layouts", "[dense]") {
  for (RowLayout const layout : kernel_layouts<TestSpace>)
    for (std::size_t const rows : {1, 2, 63, 64, 65, 1000})
      for (std::size_t const inner : {1, 3, 16, 33}) {
        expect_product<float>(rows, inner, 1 + (rows + inner) % 40, layout);
        expect_product<double>(rows, inner, 1 + (rows + inner) % 40, layout);
      }
  expect_product<double>(70, 130, 65, RowLayout::padded);
  expect_product<float>(70, 130, 65, kernel_layout<TestSpace>(3));
}

TEST_CASE("intermediates: no rows, and no inner columns", "[dense]") {
  expect_product<double>(0, 3, 4, RowLayout::padded);
  expect_product<double>(5, 0, 4, RowLayout::padded);  // sums of nothing are zero
}

TEST_CASE("intermediates: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  auto const make = [&](count_t rows, count_t columns) {
    return make_factor_matrix<double>(space, "polyad::test", rows, columns);
  };
  CHECK_NOTHROW(intermediates(space, make(9, 4), make(4, 5), make(9, 5)));
  CHECK_THROWS_AS(intermediates(space, make(9, 4), make(5, 5), make(9, 5)), UsageError);
  CHECK_THROWS_AS(intermediates(space, make(9, 4), make(4, 5), make(8, 5)), UsageError);
  CHECK_THROWS_AS(intermediates(space, make(9, 4), make(4, 5), make(9, 6)), UsageError);
  space.fence("polyad::test");
}

}  // namespace
}  // namespace polyad::test
