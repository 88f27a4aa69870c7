// SPDX-License-Identifier: BSD-3-Clause
// Permutations by one mode, and by several, against std::stable_sort.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "polyad/tensor/sort_by_mode.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

template <class Ordinal>
std::vector<std::uint64_t> content(Permutation<Ordinal, TestSpace> const& permutation) {
  TestSpace().fence("polyad::test");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), permutation);
  return std::vector<std::uint64_t>(host.data(), host.data() + host.size());
}

std::vector<std::uint64_t> identity(std::size_t length) {
  std::vector<std::uint64_t> result(length);
  std::iota(result.begin(), result.end(), std::uint64_t(0));
  return result;
}

void stable_sort_by(HostTensor const& tensor, std::size_t mode, std::vector<std::uint64_t>& permutation) {
  std::stable_sort(permutation.begin(), permutation.end(), [&](std::uint64_t a, std::uint64_t b) {
    return tensor.index(a, mode) < tensor.index(b, mode);
  });
}

template <class Index, class Ordinal>
void expect_each_mode_sorted(HostTensor const& tensor) {
  TestSpace const space;
  auto const coo = to_device<double, Index>(space, tensor);
  for (std::size_t n = 0; n < tensor.order(); ++n) {
    auto const permutation = identity_permutation<Ordinal>(space, coo.nnz());
    sort_by_mode(space, coo, static_cast<int>(n), permutation);
    auto expected = identity(tensor.nnz());
    stable_sort_by(tensor, n, expected);
    CAPTURE(tensor.name, n, sizeof(Index), sizeof(Ordinal));
    REQUIRE((content<Ordinal>(permutation) == expected));
  }
}

TEST_CASE("sort by mode: the identity", "[tensor]") {
  TestSpace const space;
  CHECK(content<std::uint32_t>(identity_permutation<std::uint32_t>(space, 0)).empty());
  CHECK((content<std::uint32_t>(identity_permutation<std::uint32_t>(space, 5001)) == identity(5001)));
  CHECK((content<std::uint64_t>(identity_permutation<std::uint64_t>(space, 5001)) == identity(5001)));
  CHECK_THROWS_AS(identity_permutation<std::uint64_t>(space, count_t(1) << 50), MemoryError);
}

TEST_CASE("sort by mode: each mode of every kind, orders 1 to 16", "[tensor]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : all_kinds)
      expect_each_mode_sorted<std::uint32_t, std::uint32_t>(small_tensor(kind, order));
  for (Kind const kind : all_kinds) {
    expect_each_mode_sorted<std::uint32_t, std::uint64_t>(small_tensor(kind, 3));
    expect_each_mode_sorted<std::uint64_t, std::uint32_t>(small_tensor(kind, 3));
    expect_each_mode_sorted<std::uint64_t, std::uint64_t>(small_tensor(kind, 3));
  }
}

TEST_CASE("sort by mode: many nonzeros, and indices that need all bits", "[tensor]") {
  Random random(4);
  expect_each_mode_sorted<std::uint32_t, std::uint32_t>(
      random_tensor(random, {3, 70000, (count_t(1) << 32) - 1}, 60000));
  expect_each_mode_sorted<std::uint64_t, std::uint64_t>(
      random_tensor(random, {count_t(1) << 50, 257}, 60000));
}

TEST_CASE("sort by mode: sorting by the last mode first gives lexicographic order", "[tensor]") {
  TestSpace const space;
  auto const tensor      = small_tensor(Kind::duplicates, 4);
  auto const coo         = to_device<float, std::uint32_t>(space, tensor);
  auto const permutation = identity_permutation<std::uint32_t>(space, coo.nnz());
  auto expected          = identity(tensor.nnz());
  for (int n = 3; n >= 0; --n) sort_by_mode(space, coo, n, permutation);
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::lexicographical_compare(&tensor.indices[a * 4], &tensor.indices[a * 4] + 4,
                                        &tensor.indices[b * 4], &tensor.indices[b * 4] + 4);
  });
  CHECK((content<std::uint32_t>(permutation) == expected));
}

TEST_CASE("sort by mode: refuses a permutation of another length and a mode that is not there", "[tensor]") {
  TestSpace const space;
  auto const coo   = to_device<float, std::uint32_t>(space, small_tensor(Kind::duplicates, 4));
  auto const whole = identity_permutation<std::uint32_t>(space, coo.nnz());
  auto const cut   = identity_permutation<std::uint32_t>(space, coo.nnz() - 1);
  CHECK_THROWS_AS(sort_by_mode(space, coo, 0, cut), UsageError);
  CHECK_THROWS_AS(sort_by_mode(space, coo, 4, whole), UsageError);
  CHECK_THROWS_AS(sort_by_mode(space, coo, -1, whole), UsageError);
  Kokkos::Array<int, max_order> modes{2, 4};
  CHECK_THROWS_AS(sort_by_modes(space, coo, modes, 1, cut), UsageError);
  CHECK_THROWS_AS(sort_by_modes(space, coo, modes, 2, whole), UsageError);
  CHECK_NOTHROW(sort_by_modes(space, coo, modes, 1, whole));
}

}  // namespace
}  // namespace polyad::test
