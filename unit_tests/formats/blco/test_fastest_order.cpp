// SPDX-License-Identifier: BSD-3-Clause
// White box: the order that `alto` takes on a host. It groups the modes whose indices long runs share, keeps
// ALTO's order where nothing is shared, and ends whatever the nonzeros are.
#include "formats/blco/build/fastest_order.hpp"

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <vector>

#include "core/host_side.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

AltoOrder order_of(HostTensor const& tensor) {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, tensor);
  return fastest_order(host_instance(space), download<HostOf<TestSpace>>(space, coo));
}

/// `fibers` random fibers along mode `along`, full ones.
HostTensor full_fibers(std::vector<std::uint64_t> const& extents, std::size_t along, std::size_t fibers) {
  Random random(5);
  auto tensor = random_tensor(random, extents, fibers);
  HostTensor full{"full fibers", extents, {}, {}};
  for (std::size_t p = 0; p < tensor.nnz(); ++p)
    for (std::uint64_t i = 0; i < extents[along]; ++i) {
      for (std::size_t n = 0; n < extents.size(); ++n)
        full.indices.push_back(n == along ? i : tensor.index(p, n));
      full.values.push_back(1);
    }
  return full;
}

TEST_CASE("the fastest order groups all modes but that of full fibers", POLYAD_HOST_ONLY "[formats][alto]") {
  for (std::size_t along = 0; along < 3; ++along) {
    CAPTURE(along);
    std::vector<std::uint64_t> extents{3000, 3000, 3000};
    extents[along] = 64;
    CHECK(order_of(full_fibers(extents, along, 1000)).grouped == (7U & ~(1U << along)));
  }
}

TEST_CASE("the fastest order of scattered nonzeros is ALTO's, with a prefetch",
          POLYAD_HOST_ONLY "[formats][alto]") {
  Random random(6);
  auto const order = order_of(random_tensor(random, {1U << 20, 1U << 20, 1U << 20}, 30000));
  CHECK(order.grouped == 0);
  CHECK(order.prefetch);
}

TEST_CASE("rows of short modes need no prefetch", POLYAD_HOST_ONLY "[formats][alto]") {
  Random random(7);
  CHECK_FALSE(order_of(random_tensor(random, {10, 10, 10}, 30000)).prefetch);
}

TEST_CASE("the fastest order is found if most nonzeros share one cell", POLYAD_HOST_ONLY "[formats][alto]") {
  Random random(8);
  for (std::size_t const others : {0, 1, 20000}) {
    CAPTURE(others);
    auto tensor = random_tensor(random, {500, 400, 300, 1}, others);
    for (int k = 0; k < 40000; ++k) {
      for (std::uint64_t const i : {7, 8, 9, 0}) tensor.indices.push_back(i);
      tensor.values.push_back(1);
    }
    CHECK(order_of(tensor).grouped < 15);  // one mode stays out of the groups
  }
  CHECK(order_of(random_tensor(random, {5, 5}, 1)).grouped < 3);
  CHECK(order_of(random_tensor(random, {5, 5}, 0)).grouped == 0);
}

}  // namespace
}  // namespace polyad::test
