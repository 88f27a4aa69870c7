// SPDX-License-Identifier: BSD-3-Clause
// White box: what the conformance tests cannot reach through the contract. GenTen's strided TinyVec, which a
// benchmark may ask for, and chunks longer than 128 nonzeros, which only larger tensors have.
#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/registry.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

template <class F>
void expect_strided(HostTensor const& tensor, std::size_t rank) {
  using Scalar = typename F::scalar_type;
  TestSpace const space;
  Random random(rank);
  auto const host_factors = random_factors(random, tensor.extents, rank);
  auto const factors      = to_device<Scalar>(space, host_factors);
  F const X               = F::build(space, to_device<Scalar, typename F::index_type>(space, tensor), {});
  NoWorkspace none;
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    WatchedMatrix<Scalar> V(space, RowLayout::padded, tensor.extents[mode], rank);
    mttkrp(space, X, factors, static_cast<int>(mode), none, V.matrix(), false);
    CAPTURE(F::name, tensor.name, rank, mode, sizeof(Scalar));
    CHECK(violation<Scalar>(oracle_mttkrp(tensor, host_factors, mode), V.read(), tensor.order()) == "");
    CHECK(V.trespasses() == 0);
  }
}

TEST_CASE("COO: the strided form of rows gives the same sums", "[formats]") {
  for (std::size_t const order : {3, 4})
    for (std::size_t const rank : {1, 4, 5, 8, 9, 16, 17, 32, 33, 130}) {
      auto const tensor = small_tensor(Kind::runs_at_borders, order);
      expect_strided<CooTinyVec<float, std::uint32_t, TestSpace>>(tensor, rank);
      expect_strided<CooTinyVec<double, std::uint32_t, TestSpace>>(tensor, rank);
      expect_strided<CooPermuted<float, std::uint32_t, TestSpace>>(tensor, rank);
      expect_strided<CooPermuted<double, std::uint32_t, TestSpace>>(tensor, rank);
    }
}

TEST_CASE("COO: chunks of many nonzeros", "[formats]") {
  TestSpace const space;
  Random random(9);
  std::size_t const rank = 6;
  // On a host a chunk holds nnz / (16 threads) nonzeros: with 7 threads 60,000 are needed for more than 128.
  for (std::size_t const nnz : {59999, 60000, 60001}) {
    auto const tensor       = random_tensor(random, {1000, 3, 20000}, nnz);
    auto const host_factors = random_factors(random, tensor.extents, rank);
    auto const factors      = to_device<double>(space, host_factors);
    auto const coo          = to_device<double, std::uint32_t>(space, tensor);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      auto const expected = oracle_mttkrp(tensor, host_factors, mode);
      for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
        using F      = typename decltype(format)::type;
        F const X    = F::build(space, coo, {});
        auto scratch = X.make_workspace(space, rank);
        WatchedMatrix<double> V(space, RowLayout::padded, tensor.extents[mode], rank);
        mttkrp(space, X, factors, static_cast<int>(mode), scratch, V.matrix());
        CAPTURE(F::name, nnz, mode);
        CHECK(violation<double>(expected, V.read(), 3) == "");
        CHECK(V.trespasses() == 0);
      });
    }
  }
}

}  // namespace
}  // namespace polyad::test
