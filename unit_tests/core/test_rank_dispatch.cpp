// SPDX-License-Identifier: BSD-3-Clause
// The table from R to blocks of columns: every column of every R is covered exactly once.
#include <cstddef>
#include <vector>

#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/wide_blocks.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

/// One call of the dispatched function.
struct Call {
  int block;
  ColumnBlocks blocks;
};

std::vector<Call> calls_of(int rank) {
  std::vector<Call> calls;
  for_each_column_block(rank, [&](auto block, ColumnBlocks blocks) { calls.push_back({block(), blocks}); });
  return calls;
}

TEST_CASE("rank table: every column of every rank is covered exactly once", "[core]") {
  for (int rank = 1; rank <= 1100; ++rank) {
    CAPTURE(rank);
    std::vector<int> covered(static_cast<std::size_t>(rank), 0);
    auto const calls = calls_of(rank);
    REQUIRE(!calls.empty());
    REQUIRE(calls.size() <= 2);
    for (auto const& call : calls) {
      REQUIRE(call.blocks.rank == rank);
      REQUIRE(call.blocks.count >= 1);
      REQUIRE(call.blocks.first % 32 == 0);  // so that packs of 16 bytes and full registers stay aligned
      for (int b = 0; b < call.blocks.count; ++b) {
        int const first = call.blocks.first + b * call.block;
        REQUIRE(first < rank);  // no block without columns
        for (int r = first; r < first + call.block && r < rank; ++r) ++covered[static_cast<std::size_t>(r)];
      }
    }
    for (int const times : covered) REQUIRE(times == 1);
  }
}

TEST_CASE("rank table: the narrowest block that holds what is left", "[core]") {
  for (int rest = 1; rest <= 31; ++rest) {
    bool const on_host  = !is_device_space<Kokkos::DefaultExecutionSpace>;
    int const narrowest = on_host && simd_bytes == 64 ? 8 : 4;
    int const expected  = rest <= narrowest       ? narrowest
                          : rest <= 8             ? 8
                          : rest <= 16            ? 16
                          : rest <= 24 && on_host ? 24
                                                  : 32;
    CAPTURE(rest);
    REQUIRE(calls_of(rest).size() == 1);
    CHECK(calls_of(rest)[0].block == expected);
    auto const behind = calls_of(96 + rest);
    if (!on_host) {  // one launch, whose last block is cut
      REQUIRE(behind.size() == 1);
      CHECK(behind[0].block == 32);
      CHECK(behind[0].blocks.first == 0);
      CHECK(behind[0].blocks.count == 4);
      continue;
    }
    REQUIRE(behind.size() == 2);
    CHECK(behind[0].block == 32);
    CHECK(behind[0].blocks.count == 3);
    CHECK(behind[1].block == expected);
    CHECK(behind[1].blocks.first == 96);
    CHECK(behind[1].blocks.count == 1);
  }
  CHECK(calls_of(32).size() == 1);
  CHECK(calls_of(320).size() == 1);
  CHECK(calls_of(320)[0].blocks.count == 10);
}

/// The calls must cover R, with blocks that TinyVec's CutColumns may cut.
template <class Scalar>
void check_calls(std::vector<Call> const& calls, int rank) {
  int end = 0, passes = 0;
  for (auto const& call : calls) {
    REQUIRE(call.blocks.rank == rank);
    REQUIRE(call.blocks.first == end);
    REQUIRE(call.blocks.count >= 1);
    end += call.block * call.blocks.count;
    passes += call.blocks.count;
    if (row_form<Kokkos::DefaultExecutionSpace> == RowForm::simd && end > rank)
      REQUIRE(end - rank <= most_cut_columns(call.block));
  }
  REQUIRE(end >= rank);
  REQUIRE(end - rank < calls.back().block);
  REQUIRE(calls.size() <= 2);
  if (row_form<Kokkos::DefaultExecutionSpace> == RowForm::simd)
    REQUIRE(passes == wide_blocks(simd_bytes, sizeof(Scalar)).passes(rank));
}

template <class Scalar>
void check_wide_blocks(int rank) {
  CAPTURE(rank, sizeof(Scalar));
  std::vector<Call> calls;
  for_each_wide_block<Scalar>(rank,
                              [&](auto block, ColumnBlocks blocks) { calls.push_back({block(), blocks}); });
  check_calls<Scalar>(calls, rank);
}

/// The same for the blocks of kernels that are compiled for an order. Where four numbers are a register, nine
/// to twelve columns take three.
template <class Scalar>
void check_kernel_shapes(int rank) {
  CAPTURE(rank, sizeof(Scalar));
  std::vector<Call> calls;
  for_each_kernel_shape<Scalar, false>(3, static_cast<count_t>(rank),
                                       [&](auto order, auto block, ColumnBlocks blocks) {
                                         REQUIRE(order() == 3);
                                         calls.push_back({block(), blocks});
                                       });
  check_calls<Scalar>(calls, rank);
  bool const is_host = row_form<Kokkos::DefaultExecutionSpace> == RowForm::simd;
  if (is_host && simd_bytes == 4 * int(sizeof(Scalar)) && rank > 8 && rank <= 12) CHECK(calls[0].block == 12);
}

TEST_CASE("rank table: wide blocks cover every rank, and cut off few columns", "[core]") {
  for (int rank = 1; rank <= 1100; ++rank) {
    check_wide_blocks<float>(rank);
    check_wide_blocks<double>(rank);
    check_kernel_shapes<float>(rank);
    check_kernel_shapes<double>(rank);
  }
}

TEST_CASE("rank table: the passes of wide blocks by the registers of a host", "[core]") {
  auto const avx2 = wide_blocks(32, 8), avx2_floats = wide_blocks(32, 4), avx512 = wide_blocks(64, 8);
  CHECK(avx2.passes(16) == 1);
  CHECK(avx2.passes(24) == 1);
  CHECK(avx2.passes(25) == 1);
  CHECK(avx2.passes(28) == 1);
  CHECK(avx2.passes(29) == 2);
  CHECK(avx2.passes(32) == 2);
  CHECK(avx2.passes(40) == 2);
  CHECK(avx2.passes(64) == 4);
  CHECK(avx2_floats.passes(56) == 1);
  CHECK(avx2_floats.passes(57) == 2);
  CHECK(avx2_floats.passes(64) == 2);
  CHECK(avx512.passes(64) == 1);
  CHECK(avx512.passes(65) == 2);
  CHECK(avx512.passes(4096) == 64);
  CHECK(wide_blocks(1, 8).passes(33) == 2);
}

TEST_CASE("rank table: ranks that no kernel serves are refused", "[core]") {
  CHECK_THROWS_AS(checked_rank(0), UsageError);
  CHECK_THROWS_AS(checked_rank(4097), UsageError);
  CHECK_THROWS_AS(checked_rank(count_t(1) << 20), UsageError);
  CHECK_THROWS_AS(checked_rank((count_t(1) << 32) + 1), UsageError);
  CHECK(checked_rank(1) == 1);
  CHECK(checked_rank(4096) == 4096);
  CHECK_THROWS_AS(checked_columns(0), UsageError);
  CHECK_THROWS_AS(checked_columns(count_t(1) << 20), UsageError);
  CHECK_THROWS_AS(checked_columns((count_t(1) << 32) + 1), UsageError);
  CHECK(checked_columns((count_t(1) << 20) - 1) == (1 << 20) - 1);
}

TEST_CASE("rank table: padded rows hold whole packs of 16 bytes, and on a host cross few lines", "[core]") {
  bool const on_host = !is_device_space<Kokkos::DefaultExecutionSpace>;
  auto const bytes   = [&](count_t row) -> count_t {
    if (row <= 16 || !on_host) return (row + 15) / 16 * 16;
    return row <= 32 ? 32 : (row + 63) / 64 * 64;
  };
  for (count_t rank = 1; rank <= 300; ++rank) {
    CHECK(padded_rank<float>(rank) == bytes(rank * 4) / 4);
    CHECK(padded_rank<double>(rank) == bytes(rank * 8) / 8);
  }
}

TEST_CASE("rank table: rows of an output on a host hold whole lines of 64 bytes", "[core]") {
  using Space = Kokkos::DefaultExecutionSpace;
  for (count_t rank = 1; rank <= 300; ++rank) {
    CAPTURE(rank);
    bool const on_host = !is_device_space<Space>;
    CHECK(output_columns<float, Space>(rank) == (on_host ? (rank + 15) / 16 * 16 : padded_rank<float>(rank)));
    CHECK(output_columns<double, Space>(rank) == (on_host ? (rank + 7) / 8 * 8 : padded_rank<double>(rank)));
  }
}

TEST_CASE("rank table: rows are aligned only when all of them are, and whole packs belong to them",
          "[core]") {
  alignas(16) double data[8]{};
  CHECK(rows_are_aligned(data, 4, 4));
  CHECK(rows_are_aligned(data, 4, 3));
  CHECK_FALSE(rows_are_aligned(data, 3, 3));      // the second row starts at 24 bytes
  CHECK_FALSE(rows_are_aligned(data + 1, 4, 3));  // the first does at 8
  CHECK_FALSE(rows_are_aligned(data, 2, 3));      // the last pack would reach into the next row
  alignas(16) float numbers[16]{};
  CHECK(rows_are_aligned(numbers, 8, 5));
  CHECK_FALSE(rows_are_aligned(numbers, 6, 5));
  CHECK_FALSE(rows_are_aligned(numbers + 2, 8, 5));
}

}  // namespace
}  // namespace polyad::test
