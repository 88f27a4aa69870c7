// SPDX-License-Identifier: BSD-3-Clause
// The conformance test of all formats: every format of the registry computes the MTTKRP of the oracle, within
// the derived bound, overwriting an output of NaN and nothing around it.
//
// The whole product is kind x order x R x scalar x index type x mode x format x layout of rows. The test
// "[conformance]" thins it. Each triple (kind, order, R) is run in both scalars with one of the two index
// types, by the parity of kind + order + R's position. Each mode has one layout of rows, so that any two
// of these choices still meet. The hidden test "[.][full]" runs all of it.
//
// A format is built once for all that is tried on a tensor, and the oracle is asked once for both scalars.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "formats/expect_exact.hpp"
#include "formats/registry.hpp"
#include "polyad/testing/conformance.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

inline constexpr std::array<std::size_t, 6> conformance_orders{2, 3, 4, 5, 6, 10};
inline constexpr std::array<std::size_t, 5> conformance_ranks{1, 3, 16, 33, 149};

/// The edges of the rank table (kernel/rank_dispatch.hpp) and of its blocks, one below and one above.
inline std::vector<std::size_t> const& edge_ranks() {
  static std::vector<std::size_t> const ranks{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  15,  16,
                                              17, 20, 23, 24, 25, 27, 28, 29, 31, 32, 33, 44,  45,  47,  48,
                                              49, 55, 56, 57, 63, 64, 65, 88, 95, 96, 97, 127, 128, 129, 300};
  return ranks;
}

/// A product that every format is to make of a tensor.
struct Trial {
  std::shared_ptr<HostFactors const> factors;
  std::size_t mode;
  RowLayout layout;
  OracleSums expected;

  Trial(HostTensor const& tensor, std::shared_ptr<HostFactors const> factors_, std::size_t mode_,
        RowLayout layout_)
      : factors(std::move(factors_)),
        mode(mode_),
        layout(layout_),
        expected(oracle_mttkrp(tensor, *factors, mode)) {}
};

/// All trials of one tensor on every format.
template <class Scalar, class Index>
void expect_mttkrps(HostTensor const& tensor, std::vector<Trial> const& trials) {
  TestSpace const space;
  auto const coo = to_device<Scalar, Index>(space, tensor);
  std::vector<FactorMatrices<Scalar, TestSpace>> factors;
  for (Trial const& trial : trials) factors.push_back(to_device<Scalar>(space, *trial.factors, trial.layout));
  for_each_format<Scalar, Index, TestSpace>([&](auto format) {
    using F   = typename decltype(format)::type;
    F const X = F::build(space, coo, {});
    for (std::size_t t = 0; t < trials.size(); ++t) {
      auto const& [host_factors, mode, layout, expected] = trials[t];
      CAPTURE(F::name, tensor.name, mode, host_factors->front().columns, static_cast<int>(layout),
              sizeof(Scalar), sizeof(Index));
      CHECK(mttkrp_violation(space, X, factors[t], expected, mode, layout) == "");
    }
  });
}
template <class Index>
void expect_mttkrps(HostTensor const& tensor, std::vector<Trial> const& trials) {
  expect_mttkrps<float, Index>(tensor, trials);
  expect_mttkrps<double, Index>(tensor, trials);
}

inline std::shared_ptr<HostFactors const> shared_factors(std::size_t seed, HostTensor const& tensor,
                                                         std::size_t rank,
                                                         double (*number)(Random&) = random_number) {
  Random random(seed);
  return std::make_shared<HostFactors const>(random_factors(random, tensor.extents, rank, number));
}

/// The product above for one index type, which has a parity.
template <class Index>
void conformance(std::size_t parity, bool full) {
  for (std::size_t k = 0; k < all_kinds.size(); ++k)
    for (std::size_t o = 0; o < conformance_orders.size(); ++o) {
      auto const tensor = small_tensor(all_kinds[k], conformance_orders[o]);
      std::vector<Trial> trials;
      for (std::size_t r = 0; r < conformance_ranks.size(); ++r) {
        if (!full && (k + o + r) % 2 != parity) continue;
        auto const factors = shared_factors(7 * k + 11 * o + 13 * r, tensor, conformance_ranks[r]);
        for (std::size_t mode = 0; mode < tensor.order(); ++mode)
          for (std::size_t l = 0; l < kernel_layouts<TestSpace>.size(); ++l)
            if (full || (k + o / 2 + r + mode) % kernel_layouts<TestSpace>.size() == l)
              trials.emplace_back(tensor, factors, mode, kernel_layouts<TestSpace>[l]);
      }
      expect_mttkrps<Index>(tensor, trials);
    }
}

/// Small integers: every sum is exact, in any order, so the bound is zero.
template <class Index>
void exact_conformance() {
  for (std::size_t const order : {1, 2, 3, 4, 5, 6, 10})
    for (Kind const kind : {Kind::runs_at_borders, Kind::shuffled, Kind::one_long_slice}) {
      auto const tensor  = small_tensor(kind, order, random_integer);
      auto const factors = shared_factors(order, tensor, 5 + order, random_integer);
      std::vector<Trial> trials;
      for (std::size_t mode = 0; mode < order; ++mode) {
        trials.emplace_back(tensor, factors, mode, kernel_layout<TestSpace>(order + mode));
        trials.back().expected = exact_mttkrp<float>(tensor, *factors, mode);
      }
      expect_mttkrps<Index>(tensor, trials);
    }
}

/// Every edge of the rank table, in every layout of rows. The orders alternate, since kernels are compiled
/// for some orders by name; the kind has rows that begin and end at the borders of chunks.
template <class Index>
void rank_edges() {
  for (std::size_t order = 2; order <= 6; ++order) {
    auto const tensor = small_tensor(Kind::runs_at_borders, order);
    std::vector<Trial> trials;
    for (std::size_t const rank : edge_ranks()) {
      if (2 + rank % 5 != order) continue;
      auto const factors = shared_factors(rank, tensor, rank);
      for (RowLayout const layout : kernel_layouts<TestSpace>)
        trials.emplace_back(tensor, factors, (rank + static_cast<std::size_t>(layout)) % order, layout);
    }
    expect_mttkrps<Index>(tensor, trials);
  }
}

/// Every R from 1 to 130, exactly. Kernels are compiled for the orders 3, 4 and 5 by name; each R has one of
/// them, and each block of the rank table all of them.
template <class Index>
void every_rank() {
  for (std::size_t order = 3; order <= 5; ++order) {
    auto const tensor = small_tensor(Kind::runs_at_borders, order, random_integer);
    std::vector<Trial> trials;
    for (std::size_t rank = 1 + order % 3; rank <= 130; rank += 3) {
      auto const factors     = shared_factors(rank, tensor, rank, random_integer);
      std::size_t const mode = rank / 3 % order;
      // Half of the rows have space for whole registers.
      RowLayout const layout = rank % 2 == 0 ? RowLayout::roomy : kernel_layout<TestSpace>(rank / 2);
      trials.emplace_back(tensor, factors, mode, layout);
      trials.back().expected = exact_mttkrp<float>(tensor, *factors, mode);
    }
    expect_mttkrps<Index>(tensor, trials);
  }
}

/// Rows of many chunks, of which a team's threads add their sums together on a device
/// (kernel/team_sums.hpp): three rows, of which two change inside of a team. So many nonzeros that floats'
/// rows count as long too (kernel/device_chunks.hpp).
template <class Index>
void long_rows() {
  for (std::size_t const order : {3, 4, 5}) {
    Random random(order);
    std::vector<std::uint64_t> extents{3, 40, 50, 6, 7};
    extents.resize(order);
    auto const tensor = random_tensor(random, extents, 25'000);
    std::vector<Trial> trials;
    for (std::size_t const rank : {1, 3, 4, 8, 16, 20, 32, 33, 70})
      trials.emplace_back(tensor, shared_factors(rank, tensor, rank), 0,
                          kernel_layout<TestSpace>(order + rank));
    expect_mttkrps<Index>(tensor, trials);
  }
}

/// The largest order.
template <class Index>
void order_16() {
  auto const tensor  = small_tensor(Kind::shuffled, 16);
  auto const factors = shared_factors(16, tensor, 6);
  std::vector<Trial> trials;
  for (std::size_t mode = 0; mode < 16; ++mode)
    trials.emplace_back(tensor, factors, mode, kernel_layout<TestSpace>(mode));
  expect_mttkrps<Index>(tensor, trials);
}

}  // namespace polyad::test

/// The tests of one index type, in both scalars.
#define POLYAD_CONFORMANCE_TESTS(Index, parity)                                       \
  TEST_CASE("all formats agree with the oracle, " #Index, "[formats][conformance]") { \
    polyad::test::conformance<Index>(parity, false);                                  \
  }                                                                                   \
  TEST_CASE("all formats agree with the oracle in full, " #Index, "[.][full]") {      \
    polyad::test::conformance<Index>(parity, true);                                   \
  }                                                                                   \
  TEST_CASE("integers are summed exactly, " #Index, "[formats][conformance]") {       \
    polyad::test::exact_conformance<Index>();                                         \
  }                                                                                   \
  TEST_CASE("every edge of the rank table, " #Index, "[formats][conformance]") {      \
    polyad::test::rank_edges<Index>();                                                \
  }                                                                                   \
  TEST_CASE("every rank up to 130, exactly, " #Index, "[formats][conformance]") {     \
    polyad::test::every_rank<Index>();                                                \
  }                                                                                   \
  TEST_CASE("rows of many chunks, " #Index, "[formats][conformance]") {               \
    polyad::test::long_rows<Index>();                                                 \
  }                                                                                   \
  TEST_CASE("order 16, " #Index, "[formats][conformance]") {                          \
    polyad::test::order_16<Index>();                                                  \
  }
