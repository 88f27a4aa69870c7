// SPDX-License-Identifier: BSD-3-Clause
// The conformance test of all formats: every format of the registry computes the MTTKRP of the oracle, within
// the derived bound, overwriting an output of NaN and nothing around it.
//
// The whole product is kind x order x R x scalar x index type x mode x format x layout of rows. The test
// "[conformance]" thins it: each triple (kind, order, R) is run in both scalars with one of the two index
// types, by the parity of kind + order + R's position, and each mode with one layout of rows, so that any two
// of these choices still meet. The hidden test "[.][full]" runs all of it.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <string>
#include <vector>

#include "formats/expect_exact.hpp"
#include "polyad/formats/registry.hpp"
#include "support/bounds.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/small_tensors.hpp"

namespace polyad::test {

inline constexpr std::array<std::size_t, 6> conformance_orders{2, 3, 4, 5, 6, 10};
inline constexpr std::array<std::size_t, 5> conformance_ranks{1, 3, 16, 33, 130};

/// The edges of the rank table (core/rank_dispatch.hpp) and of its blocks, one below and one above.
inline std::vector<std::size_t> const& edge_ranks() {
  static std::vector<std::size_t> const ranks{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 15, 16, 17,  23,  24, 25,
                                              31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 300};
  return ranks;
}

/// Every format, one mode and one layout against `expected`.
template <class Scalar, class Index>
void expect_mttkrp(TestSpace const& space, HostTensor const& tensor, HostFactors const& host_factors,
                   std::size_t mode, RowLayout layout, OracleSums const& expected) {
  auto const coo     = to_device<Scalar, Index>(space, tensor);
  auto const factors = to_device<Scalar>(space, host_factors, layout);
  count_t const rank = host_factors[0].columns;
  for_each_format<Scalar, Index, TestSpace>([&](auto format) {
    using F      = typename decltype(format)::type;
    F const X    = F::build(space, coo, {});
    auto scratch = X.make_workspace(space, rank);
    WatchedMatrix<Scalar> V(space, layout, tensor.extents[mode], rank);
    mttkrp(space, X, factors, static_cast<int>(mode), scratch, V.matrix());
    space.fence("polyad::test");
    CAPTURE(F::name, tensor.name, mode, rank, static_cast<int>(layout), sizeof(Scalar), sizeof(Index));
    CHECK(violation<Scalar>(expected, V.read(), tensor.order()) == "");
    CHECK(V.trespasses() == 0);
  });
}

/// The product above for one (scalar, index type), which is number `type` of four.
template <class Scalar, class Index>
void conformance(std::size_t type, bool full) {
  TestSpace const space;
  for (std::size_t k = 0; k < all_kinds.size(); ++k)
    for (std::size_t o = 0; o < conformance_orders.size(); ++o)
      for (std::size_t r = 0; r < conformance_ranks.size(); ++r) {
        if (!full && (k + o + r) % 2 != type % 2) continue;
        auto const tensor = small_tensor(all_kinds[k], conformance_orders[o]);
        Random random(7 * k + 11 * o + 13 * r);
        auto const factors = random_factors(random, tensor.extents, conformance_ranks[r]);
        for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
          auto const expected = oracle_mttkrp(tensor, factors, mode);
          for (std::size_t l = 0; l < all_layouts.size(); ++l)
            if (full || (k + o / 2 + r + mode) % all_layouts.size() == l)
              expect_mttkrp<Scalar, Index>(space, tensor, factors, mode, all_layouts[l], expected);
        }
      }
}

/// Small integers: every sum is exact, in any order, so the bound is zero.
template <class Scalar, class Index>
void exact_conformance() {
  TestSpace const space;
  for (std::size_t const order : {1, 2, 3, 4, 5, 6, 10})
    for (Kind const kind : {Kind::runs_at_borders, Kind::shuffled, Kind::one_long_slice}) {
      auto const tensor = small_tensor(kind, order, random_integer);
      std::size_t const rank = 5 + order;
      Random random(order);
      auto const factors = random_factors(random, tensor.extents, rank, random_integer);
      for (std::size_t mode = 0; mode < order; ++mode) {
        auto const expected = exact_mttkrp<float>(tensor, factors, mode);
        expect_mttkrp<Scalar, Index>(space, tensor, factors, mode, all_layouts[(order + mode) % 3], expected);
      }
    }
}

/// Every edge of the rank table, in every layout of rows. The orders alternate, since kernels are compiled
/// for some orders by name; the kind has rows that begin and end at the borders of chunks.
template <class Scalar, class Index>
void rank_edges() {
  TestSpace const space;
  for (std::size_t const rank : edge_ranks()) {
    std::size_t const order = 2 + rank % 5;
    auto const tensor       = small_tensor(Kind::runs_at_borders, order);
    Random random(rank);
    auto const factors = random_factors(random, tensor.extents, rank);
    for (RowLayout const layout : all_layouts) {
      std::size_t const mode = (rank + static_cast<std::size_t>(layout)) % order;
      expect_mttkrp<Scalar, Index>(space, tensor, factors, mode, layout, oracle_mttkrp(tensor, factors, mode));
    }
  }
}

/// Rows of many chunks, of which a team's threads add their sums together on a device (formats/team_sums.hpp): three rows,
/// of which two change inside of a team. So many nonzeros that floats' rows count as long too (formats/device_chunks.hpp).
template <class Scalar, class Index>
void long_rows() {
  TestSpace const space;
  for (std::size_t const order : {3, 4, 5}) {
    Random random(order);
    std::vector<std::uint64_t> extents{3, 40, 50, 6, 7};
    extents.resize(order);
    auto const tensor = random_tensor(random, extents, 25'000);
    for (std::size_t const rank : {1, 3, 4, 8, 16, 20, 32, 33, 70}) {
      auto const factors  = random_factors(random, tensor.extents, rank);
      auto const expected = oracle_mttkrp(tensor, factors, 0);
      expect_mttkrp<Scalar, Index>(space, tensor, factors, 0, all_layouts[(order + rank) % 3], expected);
    }
  }
}

/// The largest order.
template <class Scalar, class Index>
void order_16() {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 16);
  Random random(16);
  auto const factors = random_factors(random, tensor.extents, 6);
  for (std::size_t mode = 0; mode < 16; ++mode)
    expect_mttkrp<Scalar, Index>(space, tensor, factors, mode, all_layouts[mode % 3],
                                 oracle_mttkrp(tensor, factors, mode));
}

}  // namespace polyad::test

/// The tests of one (scalar, index type); each has a source of its own, so that they compile in parallel.
#define POLYAD_CONFORMANCE_TESTS(Scalar, Index, type)                                             \
  TEST_CASE("all formats agree with the oracle, " #Scalar ", " #Index, "[formats][conformance]") { \
    polyad::test::conformance<Scalar, Index>(type, false);                                         \
  }                                                                                                \
  TEST_CASE("all formats agree with the oracle in full, " #Scalar ", " #Index, "[.][full]") {      \
    polyad::test::conformance<Scalar, Index>(type, true);                                          \
  }                                                                                                \
  TEST_CASE("integers are summed exactly, " #Scalar ", " #Index, "[formats][conformance]") {       \
    polyad::test::exact_conformance<Scalar, Index>();                                              \
  }                                                                                                \
  TEST_CASE("every edge of the rank table, " #Scalar ", " #Index, "[formats][conformance]") {      \
    polyad::test::rank_edges<Scalar, Index>();                                                     \
  }                                                                                                \
  TEST_CASE("rows of many chunks, " #Scalar ", " #Index, "[formats][conformance]") {               \
    polyad::test::long_rows<Scalar, Index>();                                                      \
  }                                                                                                \
  TEST_CASE("order 16, " #Scalar ", " #Index, "[formats][conformance]") {                          \
    polyad::test::order_16<Scalar, Index>();                                                       \
  }
