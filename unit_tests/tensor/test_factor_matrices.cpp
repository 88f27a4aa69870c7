// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "polyad/tensor/factor_matrices.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

/// The starting guess, written down independently of core/counter_rng.hpp.
double start(std::uint64_t seed, std::uint64_t n, std::uint64_t i, std::uint64_t r) {
  std::uint64_t z = seed * 15485907386658061715ULL;
  z += (n + 1) * 11400714819323198485ULL;
  z += (i + 1) * 13787848793156543929ULL;
  z += (r + 1) * 10723151780598845931ULL;
  z = 13787848793156543929ULL * (z ^ z / (1ULL << 30));
  z = 10723151780598845931ULL * (z ^ z / (1ULL << 27));
  z = z ^ z / (1ULL << 31);
  return static_cast<double>(z / 2048) / 9007199254740992.0;
}

template <class Scalar>
void expect_shape_and_zeros(count_t rank) {
  CAPTURE(rank, sizeof(Scalar));
  TestSpace const space;
  auto const matrix = make_factor_matrix<Scalar>(space, "polyad::test", 37, rank);
  space.fence("polyad::test");
  REQUIRE(matrix.extent(0) == 37);
  REQUIRE(matrix.extent(1) == rank);
  REQUIRE(matrix.stride(1) == 1);
  REQUIRE(matrix.stride(0) >= rank);
  REQUIRE(rows_are_aligned(matrix.data(), matrix.stride(0), rank));
  REQUIRE(matrix.stride(0) == padded_rank<Scalar>(rank));
  auto const entries = flat(matrix);
  REQUIRE(std::all_of(entries.begin(), entries.end(), [](double entry) { return entry == 0; }));
}

TEST_CASE("factors: shape, padding and zeros", "[tensor]") {
  for (count_t const rank : {1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 130, 300}) {
    expect_shape_and_zeros<float>(rank);
    expect_shape_and_zeros<double>(rank);
  }
}

template <class Scalar>
void expect_random_start(std::uint64_t seed, count_t rank) {
  CAPTURE(seed, rank, sizeof(Scalar));
  TestSpace const space;
  Extents const extents{30, 1, 1088};
  FactorMatrices<Scalar, TestSpace> const factors(space, extents, rank);
  fill_random(space, factors, seed);
  space.fence("polyad::test");
  REQUIRE(factors.order() == 3);
  REQUIRE(factors.rank() == rank);
  for (int n = 0; n < 3; ++n) {
    auto const entries = flat(factors[n]);
    REQUIRE(entries.size() == extents[n] * rank);
    std::size_t different = 0;
    for (std::size_t e = 0; e < entries.size(); ++e)
      if (entries[e] != static_cast<double>(static_cast<Scalar>(
                            start(seed, static_cast<std::uint64_t>(n), e / rank, e % rank))))
        ++different;
    CHECK(different == 0);
  }
}

TEST_CASE("factors: the random start has the bits that every backend and thread count gives", "[tensor]") {
  for (count_t const rank : {1, 8, 33}) {
    expect_random_start<double>(0, rank);
    expect_random_start<float>(0, rank);
    expect_random_start<double>(12345, rank);
    expect_random_start<double>(~std::uint64_t(0), rank);
  }
}

template <class Scalar>
void expect_round_trip(std::size_t rows, std::size_t rank) {
  CAPTURE(rows, rank);
  TestSpace const space;
  Random random(rows + rank);
  auto const data   = random_matrix(random, rows, rank).data;
  auto const matrix = make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  from_host(space, data, matrix);
  CHECK(flat(matrix) == data);
  CHECK(to_host<Scalar, TestSpace>(space, matrix) == data);
}

TEST_CASE("factors: from the host and back", "[tensor]") {
  expect_round_trip<double>(10, 5);
  expect_round_trip<float>(10, 5);
  expect_round_trip<float>(1, 1);
  expect_round_trip<double>(0, 4);
  expect_round_trip<double>(257, 130);
  TestSpace const space;
  auto const matrix = make_factor_matrix<double>(space, "polyad::test", 3, 5);
  CHECK_THROWS_AS(from_host(space, std::vector<double>(14), matrix), UsageError);
}

TEST_CASE("factors: shapes that do not match are refused with both", "[tensor]") {
  TestSpace const space;
  FactorMatrices<double, TestSpace> factors(space, Extents{4, 5, 6}, 3);
  CHECK_NOTHROW(expect_factors(factors, Extents{4, 5, 6}));
  CHECK_THROWS_AS(expect_factors(factors, Extents{4, 5}), UsageError);
  CHECK(message_of([&] { expect_factors(factors, Extents{4, 7, 6}); }) ==
        "factor matrix 1 is 5 x 3, not 7 x 3");
  factors[2] = make_factor_matrix<double>(space, "polyad::test", 6, 4);
  CHECK_THROWS_AS(expect_factors(factors, Extents{4, 5, 6}), UsageError);
}

TEST_CASE("factors: rank 0 and factors beyond memory are refused", "[tensor]") {
  TestSpace const space;
  using Factors = FactorMatrices<double, TestSpace>;
  CHECK_THROWS_AS(Factors(space, Extents{4, 5}, 0), UsageError);
  try {
    Factors(space, Extents{4, count_t(1) << 40}, 1 << 10);
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.array() == "polyad::factor_1");
    CHECK(error.bytes() == count_t(1) << 53);
  }
  CHECK_THROWS_AS(Factors(space, Extents{~count_t(0)}, 1 << 10), MemoryError);  // the product overflows
}

/// Zeroes a matrix in a larger one by `zero`, and looks at both.
template <class Scalar, class Zero>
void expect_zeros(RowLayout layout, std::size_t rows, std::size_t rank, Zero&& zero) {
  CAPTURE(static_cast<int>(layout), rows, rank, sizeof(Scalar));
  TestSpace const space;
  WatchedMatrix<Scalar> const watched(space, layout, rows, rank);
  zero(space, watched.matrix());
  space.fence("polyad::test");
  for (double const number : watched.read()) CHECK(number == 0);
  CHECK(watched.trespasses() == 0);
}

TEST_CASE("factors: a matrix is zeroed, and what is around it stays", "[tensor]") {
  auto const whole = [](auto const& space, auto const& matrix) { detail::zero_matrix(space, matrix); };
  // The kernel for rows with gaps, which devices take.
  auto const by_rows = [](auto const& space, auto const& matrix) {
    using Scalar       = typename std::decay_t<decltype(matrix)>::non_const_value_type;
    using Kernel       = detail::ZeroRows<Scalar>;
    count_t const rank = matrix.extent(1), in_row = (rank + Kernel::width - 1) / Kernel::width;
    REQUIRE(rows_are_aligned(matrix.data(), matrix.stride(0), rank));
    Kokkos::parallel_for(
        "polyad::test",
        Kokkos::RangePolicy<TestSpace, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0) * in_row),
        Kernel{matrix.data(), static_cast<count_t>(matrix.stride(0)), rank, in_row});
  };
  for (std::size_t const rank : {1, 2, 3, 4, 5, 8, 10, 25, 33, 50})
    for (std::size_t const rows : {1, 2, 130}) {
      for (auto const layout :
           {RowLayout::padded, RowLayout::roomy, RowLayout::wide, RowLayout::tight, RowLayout::subview}) {
        expect_zeros<float>(layout, rows, rank, whole);
        expect_zeros<double>(layout, rows, rank, whole);
      }
      expect_zeros<float>(RowLayout::roomy, rows, rank, by_rows);
      expect_zeros<double>(RowLayout::roomy, rows, rank, by_rows);
    }
}

}  // namespace
}  // namespace polyad::test
