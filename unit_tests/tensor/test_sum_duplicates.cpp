// SPDX-License-Identifier: BSD-3-Clause
// sum_duplicates against a std::map that adds in the order of the nonzeros: the same bits.
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <map>
#include <vector>

#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using Cells = std::map<std::vector<std::uint64_t>, double>;

Cells cells_of(HostTensor const& tensor) {
  Cells cells;
  for (std::size_t p = 0; p < tensor.nnz(); ++p)
    cells[{tensor.indices.begin() + static_cast<std::ptrdiff_t>(p * tensor.order()),
           tensor.indices.begin() + static_cast<std::ptrdiff_t>((p + 1) * tensor.order())}] +=
        tensor.values[p];
  return cells;
}

template <class Scalar, class Index>
void expect_summed(HostTensor const& tensor) {
  CAPTURE(tensor.name, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  auto const before              = to_device<Scalar, Index>(space, tensor);
  auto const [after, duplicates] = sum_duplicates(space, before);
  Cells const cells              = cells_of(tensor);
  REQUIRE(after.nnz() == cells.size());
  REQUIRE(duplicates == tensor.nnz() - cells.size());
  REQUIRE(after.extents() == before.extents());
  if (duplicates == 0) {  // nothing is copied, whatever the order
    REQUIRE(after.values().data() == before.values().data());
    REQUIRE(after.indices().data() == before.indices().data());
    return;
  }
  auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), after.values());
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), after.indices());
  std::size_t p      = 0;
  for (auto const& [cell, value] : cells) {  // std::map is sorted, mode 0 first, as the result should be
    for (std::size_t n = 0; n < cell.size(); ++n) REQUIRE(indices(p, n) == cell[n]);
    REQUIRE(values(p) == static_cast<Scalar>(value));
    ++p;
  }
}

TEST_CASE("duplicates: every kind, orders 1 to 16", "[tensor]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : all_kinds) expect_summed<double, std::uint32_t>(small_tensor(kind, order));
  for (Kind const kind : all_kinds) {
    expect_summed<float, std::uint32_t>(small_tensor(kind, 3));
    expect_summed<float, std::uint64_t>(small_tensor(kind, 3));
    expect_summed<double, std::uint64_t>(small_tensor(kind, 3));
  }
}

TEST_CASE("duplicates: many, in runs of every length", "[tensor]") {
  Random random(8);
  expect_summed<double, std::uint32_t>(random_tensor(random, {7, 11, 13}, 50000));  // all cells many times
  expect_summed<double, std::uint32_t>(random_tensor(random, {300, 300, 300}, 50000));  // few
  expect_summed<double, std::uint64_t>(random_tensor(random, {1, 1}, 20000));           // one cell
}

TEST_CASE("duplicates: only the first two, only the last two", "[tensor]") {
  expect_summed<double, std::uint32_t>({"first", {5, 5}, {0, 0, 0, 0, 1, 2, 3, 4}, {1, 2, 3, 4}});
  expect_summed<double, std::uint32_t>({"last", {5, 5}, {0, 0, 1, 2, 4, 4, 4, 4}, {1, 2, 3, 4}});
  // Sorted but for one pair at the end: found although every other neighbour is in order.
  expect_summed<double, std::uint32_t>({"apart", {5, 5}, {0, 0, 1, 2, 4, 4, 0, 0}, {1, 2, 3, 4}});
}

TEST_CASE("duplicates: values that cancel stay as a zero", "[tensor]") {
  TestSpace const space;
  auto const tensor =
      to_device<double, std::uint32_t>(space, HostTensor{"cancel", {3, 3}, {1, 1, 1, 1, 2, 2}, {5, -5, 1}});
  auto const [summed, duplicates] = sum_duplicates(space, tensor);
  CHECK(duplicates == 1);
  CHECK(flat(summed.values()) == std::vector<double>{0, 1});
}

}  // namespace
}  // namespace polyad::test
