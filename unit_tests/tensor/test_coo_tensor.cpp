// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
void expect_uploaded(HostTensor const& expected) {
  TestSpace const space;
  auto const tensor  = to_device<Scalar, Index>(space, expected);
  auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.values());
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
  REQUIRE(tensor.order() == static_cast<int>(expected.order()));
  REQUIRE(tensor.extents() == Extents(std::span<count_t const>(expected.extents)));
  REQUIRE(tensor.nnz() == expected.nnz());
  REQUIRE(tensor.storage_bytes() == expected.nnz() * (sizeof(Scalar) + expected.order() * sizeof(Index)));
  bool same = true;
  for (std::size_t p = 0; p < expected.nnz(); ++p) {
    same = same && values(p) == static_cast<Scalar>(expected.values[p]);
    for (std::size_t n = 0; n < expected.order(); ++n) same = same && indices(p, n) == expected.index(p, n);
  }
  REQUIRE(same);
}

TEST_CASE("coo: what is uploaded is there, for orders 1 to 16", "[tensor]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : {Kind::empty, Kind::one_nonzero, Kind::shuffled}) {
      auto const tensor = small_tensor(kind, order);
      CAPTURE(tensor.name);
      expect_uploaded<float, std::uint32_t>(tensor);
      expect_uploaded<double, std::uint64_t>(tensor);
    }
}

TEST_CASE("coo: values are rounded to the scalar, indices may exceed 32 bits", "[tensor]") {
  expect_uploaded<float, std::uint64_t>(
      {"wide", {count_t(1) << 40, 3}, {(count_t(1) << 40) - 1, 2, count_t(1) << 33, 0}, {0.1, 1e300}});
}

template <class Index>
std::string refusal(Extents const& extents, std::vector<Index> const& indices,
                    std::vector<double> const& values) {
  return message_of([&] {
    static_cast<void>(upload<double, Index>(TestSpace(), extents, std::span<Index const>(indices),
                                            std::span<double const>(values)));
  });
}

TEST_CASE("coo: an index outside the extents is refused with its place", "[tensor]") {
  std::string const text = refusal<std::uint32_t>({2, 3, 4}, {1, 2, 3, 0, 3, 0}, {1, 2});
  CHECK(text == "nonzero 1 has index 3 in mode 1 of 3 rows");
  CHECK(refusal<std::uint32_t>({2, 3, 4}, {2, 0, 0}, {1}) != "nothing was thrown");
  CHECK(refusal<std::uint32_t>({2, 3, 4}, {0, 0, 4}, {1}) != "nothing was thrown");
  CHECK(refusal<std::uint32_t>({2, 3, 4}, {1, 2, 3}, {1}) == "nothing was thrown");
  CHECK(refusal<std::uint64_t>({2, 0}, {0, 0}, {1}) != "nothing was thrown");  // no row to stand in
}

TEST_CASE("coo: numbers of indices and values must match", "[tensor]") {
  std::string const text = refusal<std::uint32_t>({2, 3, 4}, {1, 2, 3, 0}, {1, 2});
  CHECK(text.find("4 indices for 2 nonzeros of order 3") != std::string::npos);
  using Tensor = CooTensor<double, std::uint32_t, TestSpace>;
  CHECK_THROWS_AS(Tensor(Extents{2, 3}, Tensor::indices_type("i", 4, 2), Tensor::values_type("v", 5)),
                  UsageError);
  CHECK_THROWS_AS(Tensor(Extents{2, 3}, Tensor::indices_type("i", 4, 3), Tensor::values_type("v", 4)),
                  UsageError);
  CHECK_NOTHROW(Tensor(Extents{2, 3}, Tensor::indices_type("i", 4, 2), Tensor::values_type("v", 4)));
}

TEST_CASE("coo: a mode that 32 bits cannot count needs 64-bit indices", "[tensor]") {
  constexpr count_t most = count_t(1) << 32;
  // The largest number of 32 bits is never a row: kernels mean "none" by it.
  CHECK(refusal<std::uint32_t>({most - 1, 2}, {4294967294U, 1}, {1}) == "nothing was thrown");
  CHECK(refusal<std::uint32_t>({most, 2}, {4294967295U, 1}, {1}) ==
        "mode 0 of 4294967296 rows needs 64-bit indices");
  CHECK(refusal<std::uint64_t>({most, 2}, {4294967295U, 1}, {1}) == "nothing was thrown");
  CHECK(refusal<std::uint32_t>({2, most + 1}, {0, 0}, {1}).find("64-bit") != std::string::npos);
  CHECK(refusal<std::uint64_t>({2, most + 1}, {0, most}, {1}) == "nothing was thrown");
}

TEST_CASE("coo: a tensor that does not fit is refused before it is allocated", "[tensor]") {
  Extents const extents{10, 10, 10};
  try {
    static_cast<void>(make_coo_tensor<double, std::uint32_t>(TestSpace(), extents, count_t(1) << 50));
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.bytes() == (count_t(1) << 50) * 20);
  }
}

template <class Scalar>
void expect_norm(HostTensor const& tensor) {
  CAPTURE(tensor.name, sizeof(Scalar));
  long double sum = 0;
  for (double const value : tensor.values) sum += static_cast<long double>(value) * value;
  TestSpace const space;
  double const actual      = norm_squared(space, to_device<Scalar, std::uint32_t>(space, tensor));
  std::size_t const rounds = roundings(tensor.nnz(), 2);  // in double, whatever the scalar
  CHECK(std::abs(actual - sum) <= (gamma<double>(rounds) + gamma<long double>(rounds)) * sum);
}

TEST_CASE("coo: the squared norm is summed in double", "[tensor]") {
  for (Kind const kind : all_kinds) {
    expect_norm<float>(small_tensor(kind, 3));
    expect_norm<double>(small_tensor(kind, 3));
  }
  Random random(2);
  auto tensor = random_tensor(random, {50, 60, 70}, 200000);
  expect_norm<float>(tensor);
  expect_norm<double>(tensor);
  tensor.values[77777] = std::numeric_limits<double>::quiet_NaN();
  TestSpace const space;
  CHECK(std::isnan(norm_squared(space, to_device<float, std::uint32_t>(space, tensor))));
}

}  // namespace
}  // namespace polyad::test
