// SPDX-License-Identifier: BSD-3-Clause
// White box: the copies of `sorted` in host memory, and what the operations make of them by stretches of
// every size, against `sorted` itself and the definitions.
#include "formats/coo/storage/streamed_sorted.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fast_tucker/optimizers/gradients.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/expect_exact.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/testing/conformance.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/long_rows.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
using Streamed = StreamedSorted<Scalar, Index, TestSpace>;

template <class Scalar, class Index>
auto on_host(HostTensor const& tensor) {
  return to_device<Scalar, Index>(typename Streamed<Scalar, Index>::host_space(), tensor);
}

/// Built with buffers of so many nonzeros each. All modes are short: their indices are sent in 16 bits.
template <class Scalar, class Index>
Streamed<Scalar, Index> with_buffers(HostTensor const& tensor, count_t nonzeros, bool deterministic = false) {
  StreamedSortedOptions options;
  std::size_t const order = tensor.order();
  options.buffer_bytes =
      stretch_buffers * nonzeros * (sizeof(Scalar) + order * sizeof(Index) + 2 * (order - 1));
  options.deterministic = deterministic;
  return Streamed<Scalar, Index>::build(TestSpace(), on_host<Scalar, Index>(tensor), options);
}

TEST_CASE("streamed-sorted: its copies are those of sorted", "[formats]") {
  TestSpace const space;
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {2, 3, 5}) {
      auto const tensor = small_tensor(kind, order);
      auto const coo    = to_device<double, std::uint32_t>(space, tensor);
      auto const want =
          Sorted<double, std::uint32_t, TestSpace>::build(space, coo, {.block_rows = 0, .runs = "each"});
      auto const X = Streamed<double, std::uint32_t>::build(space, coo);
      CHECK(X.nnz() == tensor.nnz());
      for (int n = 0; n < static_cast<int>(order); ++n) {
        CAPTURE(tensor.name, n);
        auto const of_want = flat(want.copy(n).indices), found = flat(X.copy(n).indices);
        std::size_t const stride = want.copy(n).indices.extent(1);  // whole packs
        for (std::size_t m = 0; m < order; ++m)
          for (std::size_t p = 0; p < tensor.nnz(); ++p)
            REQUIRE(found[m * tensor.nnz() + p] == of_want[m * stride + p]);
        auto values = flat(want.copy(n).values);
        values.resize(tensor.nnz());
        CHECK(flat(X.copy(n).values) == values);
        CHECK(flat(X.copy(n).starts) == flat(want.make_row_workspace(space)[static_cast<std::size_t>(n)]));
        CHECK(X.copy(n).rows == want.copy(n).rows);
      }
    }
}

TEST_CASE("streamed-sorted: MTTKRPs by stretches of every size, twice", "[formats]") {
  Random random(17);
  auto const tensor = random_tensor(random, {70, 300, 90}, 3000, random_integer);
  auto const long_  = random_tensor(random, {3, 40}, 2000, random_integer);
  auto const deep   = random_tensor(random, {70, 30, 90, 2, 11}, 1500, random_integer);
  for (count_t const nonzeros : {4, 60, 1024, 1500, 100000}) {
    auto const expect = [&](auto const& X, HostTensor const& of, std::size_t rank) {
      auto workspace = X.make_workspace(TestSpace(), rank);
      for (int pass = 0; pass < 2; ++pass)
        expect_exact(TestSpace(), X, workspace, of, rank, RowLayout::padded);
    };
    expect(with_buffers<double, std::uint32_t>(tensor, nonzeros), tensor, 5);
    expect(with_buffers<float, std::uint32_t>(long_, nonzeros), long_, 16);
    expect(with_buffers<float, std::uint64_t>(deep, nonzeros), deep, 33);
  }
}

TEST_CASE("streamed-sorted: residual sweeps by stretches", "[formats][fast_tucker]") {
  TestSpace const space;
  for (Kind const kind : {Kind::runs_at_borders, Kind::one_long_slice, Kind::empty, Kind::duplicates})
    for (std::size_t const rank : {4, 40})
      for (count_t const nonzeros : {8, 100, 5000}) {
        auto const tensor = small_tensor(kind, 3);
        Random random(rank);
        auto const host_C = random_factors(random, tensor.extents, rank);
        auto const C      = to_device<double>(space, host_C);
        auto const X      = with_buffers<double, std::uint32_t>(tensor, nonzeros);
        auto workspace    = make_residual_workspace(space, X, rank);
        for (std::size_t mode = 0; mode < 3; ++mode) {
          auto const G = make_factor_matrix<double>(space, "polyad::test", tensor.extents[mode], rank);
          Kokkos::deep_copy(G, std::numeric_limits<double>::quiet_NaN());
          residual_mttkrp(space, X, C, static_cast<int>(mode), workspace, G);
          space.fence("polyad::test");
          CAPTURE(tensor.name, mode, rank, nonzeros);
          CHECK(violation<double>(oracle_residual_mttkrp(tensor, host_C, mode), flat(G),
                                  residual_factors(tensor.order(), rank)) == "");
        }
      }
}

/// The rows of all modes, from random C and B. \param squares  of orthogonal columns, or 0
template <class F>
std::vector<double> rows_of(F const& X, std::size_t J, std::size_t rank, double squares, double target) {
  using Scalar = typename F::scalar_type;
  TestSpace const space;
  Random random(J + rank);
  std::vector<std::uint64_t> extents;
  for (int n = 0; n < X.extents().order(); ++n) extents.push_back(X.extents()[n]);
  auto const C = to_device<Scalar>(space, random_factors(random, extents, rank));
  std::vector<std::uint64_t> const shape{J};
  auto host_B = random_factors(random, shape, rank);
  if (squares > 0)
    for (std::size_t j = 0; j < J; ++j)
      for (std::size_t r = 0; r < rank; ++r) host_B[0](j, r) = j == r ? std::sqrt(squares) : 0;
  auto const B          = to_device<Scalar>(space, host_B)[0];
  auto const transposed = make_factor_matrix<Scalar>(space, "polyad::test", rank, J);
  scaled_transpose(space, 1.0, B, transposed);
  Kokkos::View<double, TestSpace::device_type> const unit("unit");
  Kokkos::deep_copy(unit, 3.0);
  RowShrinkage const shrinkage{2, 0.1, unit.data(), target};
  auto const starts = X.make_row_workspace(space);
  Kokkos::View<Scalar*, TestSpace::device_type> const sums("sums", row_sums_size(X.nnz(), rank));
  std::vector<double> rows;
  for (int mode = 0; mode < X.extents().order(); ++mode) {
    auto const A = make_factor_matrix<Scalar>(space, "polyad::test", X.extents()[mode], J);
    Kokkos::deep_copy(A, std::numeric_limits<Scalar>::quiet_NaN());
    least_squares_rows(space, X, C, mode, {B, transposed, 0.0, false, squares, sums}, starts, A, shrinkage);
    space.fence("polyad::test");
    auto const found = flat(A);
    rows.insert(rows.end(), found.begin(), found.end());
  }
  return rows;
}

template <class Scalar, class Index>
void expect_same_rows(HostTensor const& tensor, std::size_t J, std::size_t rank, double squares,
                      double target) {
  TestSpace const space;
  auto const want = rows_of(Sorted<Scalar, Index, TestSpace>::build(
                                space, to_device<Scalar, Index>(space, tensor), {.block_rows = 0}),
                            J, rank, squares, target);
  for (count_t const nonzeros : {4, 32, 200, 1000, 100000}) {
    CAPTURE(tensor.name, tensor.nnz(), J, rank, squares, target, nonzeros, sizeof(Scalar), sizeof(Index));
    CHECK(rows_of(with_buffers<Scalar, Index>(tensor, nonzeros), J, rank, squares, target) == want);
  }
}

TEST_CASE("streamed-sorted: least squares have the bits of sorted, in stretches of every size",
          "[formats][fast_tucker]") {
  // Rows longer than a buffer, rows without nonzeros at both ends, a single row.
  for (Kind const kind : all_kinds) {
    expect_same_rows<double, std::uint32_t>(small_tensor(kind, 3), 3, 5, 0, 0);
    expect_same_rows<float, std::uint32_t>(small_tensor(kind, 4), 8, 8, 2, 1);
  }
  Random random(3);
  auto const users = random_tensor(random, {200, 50, 1}, 6000);
  expect_same_rows<float, std::uint64_t>(users, 4, 4, 1, 0);
  expect_same_rows<double, std::uint32_t>(users, 4, 9, 0, 1);
  expect_same_rows<float, std::uint32_t>(users, 40, 40, 1, 0);
  // Rows of several chunks, whose sums are formed by themselves.
  expect_same_rows<double, std::uint32_t>(tensor_with_long_rows(), 3, 5, 0, 1);
  expect_same_rows<float, std::uint32_t>(tensor_with_long_rows(), 6, 6, 1, 0);
}

TEST_CASE("streamed-sorted: indices of long modes are sent in whole words", "[formats][fast_tucker]") {
  Random random(8);
  // The second mode alone is short, by a hair.
  auto tensor = random_tensor(random, {70000, 65536, 65537}, 3000, random_integer);
  for (std::size_t p = 0; p < 3000; ++p) tensor.indices[p * 3 + 1] = p % 2 == 0 ? 65535 : p % 100;
  auto const X = with_buffers<float, std::uint32_t>(tensor, 400);
  CHECK(X.sent_bytes(0) == 4 + 2 + 4);
  CHECK(X.sent_bytes(1) == 4 + 4 + 4);
  CHECK(X.sent_bytes(2) == 4 + 2 + 4);
  expect_same_rows<float, std::uint32_t>(tensor, 3, 3, 1, 0);
  auto workspace = X.make_workspace(TestSpace(), 3);
  expect_exact(TestSpace(), X, workspace, tensor, 3, RowLayout::padded);
}

TEST_CASE("streamed-sorted: with a fixed order of sums the bits are the same at any number of threads",
          "[formats][fast_tucker]") {
  Random random(9);
  auto const tensor = random_tensor(random, {60, 7, 50}, 4000);
  for (std::size_t const rank : {5, 40}) {
    auto const host_C = random_factors(random, tensor.extents, rank);
    std::vector<double> first;
    for (auto const& space : instances_of<TestSpace>({1, 2, 5}))
      for (int pass = 0; pass < 2; ++pass) {
        auto const C   = to_device<float>(space, host_C);
        auto const X   = with_buffers<float, std::uint32_t>(tensor, 900, true);
        auto workspace = make_residual_workspace(space, X, rank);
        std::vector<double> sums;
        for (int mode = 0; mode < 3; ++mode)
          for (bool const residual : {true, false}) {
            auto const G = make_factor_matrix<float>(space, "polyad::test", X.extents()[mode], rank);
            if (residual)
              residual_mttkrp(space, X, C, mode, workspace, G);
            else
              mttkrp(space, X, C, mode, workspace.format, G);
            space.fence("polyad::test");
            auto const found = flat(G);
            if (residual)
              CHECK(violation<float>(oracle_residual_mttkrp(tensor, host_C, static_cast<std::size_t>(mode)),
                                     found, residual_factors(3, rank)) == "");
            sums.insert(sums.end(), found.begin(), found.end());
          }
        if (first.empty()) first = sums;
        CHECK(sums == first);
      }
  }
  // A row's sum is not divided among buffers.
  auto const small = with_buffers<float, std::uint32_t>(tensor, 400, true);
  CHECK(message_of<MemoryError>([&] {
          static_cast<void>(small.make_workspace(TestSpace(), 4));
        }).find("which is summed in a fixed order, has to fit a buffer") != std::string::npos);
}

TEST_CASE("streamed-sorted: buffers are made once, and keep within what is free", "[formats]") {
  TestSpace const space;
  Random random(5);
  auto const tensor = random_tensor(random, {300, 200, 10}, 40000);
  auto const X      = Streamed<float, std::uint32_t>::build(space, on_host<float, std::uint32_t>(tensor));
  CHECK(X.storage_bytes() == 3 * 40000 * (16 + 2 * 2) + 8 * (300 + 200 + 10 + 3));
  CHECK(X.sent_bytes(0) == 8);
  CHECK(message_of([&] { static_cast<void>(X.buffers()); }).find("a workspace comes first") == 0);
  auto const small        = with_buffers<float, std::uint32_t>(tensor, 3);
  count_t const instances = is_device_space<TestSpace> ? 400000 : 0;  // what Kokkos gives them
  count_t const budget    = 200000 + 10 * instances;
  DeviceMemoryAccount const account(budget);
  if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
  auto const first = X.make_workspace(space, 4);
  CHECK(account.in_use() <= budget / 4 + instances);
  CHECK(account.in_use() > budget / 16);
  CHECK(X.make_workspace(space, 4).held == first.held);
  auto const starts = X.make_row_workspace(space);
  CHECK(account.peak() <= budget);
  CHECK(message_of<MemoryError>([&] { static_cast<void>(small.make_workspace(space, 4)); }) ==
        "the stream of nonzeros needs 320 bytes: only 240 bytes are left for them");
}

}  // namespace
}  // namespace polyad::test
