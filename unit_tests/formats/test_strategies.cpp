// SPDX-License-Identifier: BSD-3-Clause
// Each strategy of the families of formats, forced on every backend: its MTTKRP is right, and its residual
// sweep where it has one. update_factor's are in dense/test_update_factor.cpp.
#include <array>
#include <optional>

#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/forced_strategies.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

constexpr int forced_block = 16;
using ForcedHere           = Forced<TestSpace, forced_block>;

/// One after the other through one format, into outputs of NaN.
template <class One>
void expect_strategy(One const& X, HostTensor const& tensor, std::size_t rank) {
  TestSpace const space;
  Random random(rank);
  auto const host_factors = random_factors(random, tensor.extents, rank);
  auto const factors      = to_device<float>(space, host_factors, kernel_layout<TestSpace>(0));
  auto const workspace    = X.make_workspace(space, rank);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    CAPTURE(One::name(), tensor.name, mode, rank);
    WatchedMatrix<float> const V(space, kernel_layout<TestSpace>(0), tensor.extents[mode], rank);
    X.add(space, factors, int(mode), V.matrix(), workspace);
    space.fence("polyad::test");
    REQUIRE(violation<float>(oracle_mttkrp(tensor, host_factors, mode), V.read(), tensor.order()) == "");
    REQUIRE(V.trespasses() == 0);
    if constexpr (requires { X.residual(space, factors, int(mode), V.matrix(), workspace); }) {
      if (rank > std::size_t(forced_block)) continue;  // it needs whole rows
      WatchedMatrix<float> const G(space, kernel_layout<TestSpace>(0), tensor.extents[mode], rank);
      X.residual(space, factors, int(mode), G.matrix(), workspace);
      space.fence("polyad::test");
      REQUIRE(violation<float>(oracle_residual_mttkrp(tensor, host_factors, mode), G.read(),
                               residual_factors(tensor.order(), rank)) == "");
      REQUIRE(G.trespasses() == 0);
    }
  }
}

TEST_CASE("strategies: each is right on every backend", "[formats][strategies]") {
  TestSpace const space;
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {3, 4, 6}) {
      auto const tensor = small_tensor(kind, order);
      if (tensor.nnz() == 0) continue;  // no launch
      auto const coo = to_device<float, std::uint32_t>(space, tensor);
      ForcedHere::for_each([&](auto identity) {
        typename decltype(identity)::type const X(space, coo);
        for (std::size_t const rank : {3, 16, 37}) expect_strategy(X, tensor, rank);
      });
    }
}

TEST_CASE("strategies: alto's private rows with groups, locks and any number of chunks",
          "[formats][alto][strategies]") {
  TestSpace const space;
  for (std::size_t const order : {2, 3, 5})
    for (std::uint32_t const grouped : {0U, 1U, 2U})
      for (count_t const chunks : {1, 3, 8}) {
        auto const tensor = small_tensor(Kind::shuffled, order);
        detail::AltoOptions options;
        options.choice            = detail::AltoOptions::Order::given;
        options.order             = {grouped, 0, 0, chunks == 3};
        options.chunks            = chunks;
        options.most_private_rows = grouped;  // one or two: nearly all modes are locked
        CAPTURE(grouped, chunks);
        ForcedHere::OfAlto<detail::AltoPrivateRows> const X(
            space, to_device<float, std::uint32_t>(space, tensor), options);
        for (std::size_t const rank : {5, 16, 33}) expect_strategy(X, tensor, rank);
      }
}

/// Whether the option gives a tensor whose MTTKRPs are right, or is refused.
template <class F>
bool is_there(HostTensor const& tensor, typename F::options_type const& options) {
  using Scalar = typename F::scalar_type;
  TestSpace const space;
  Random random(7);
  std::optional<F> X;
  try {
    X = F::build(space, to_device<Scalar, std::uint32_t>(space, tensor), options);
  } catch (UsageError const&) {
    return false;
  }
  auto const host_factors = random_factors(random, tensor.extents, 9);
  auto const factors      = to_device<Scalar>(space, host_factors, kernel_layout<TestSpace>(0));
  auto workspace          = X->make_workspace(space, 9);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    WatchedMatrix<Scalar> const V(space, kernel_layout<TestSpace>(0), tensor.extents[mode], 9);
    mttkrp(space, *X, factors, int(mode), workspace, V.matrix());
    space.fence("polyad::test");
    REQUIRE(violation<Scalar>(oracle_mttkrp(tensor, host_factors, mode), V.read(), tensor.order()) == "");
  }
  return true;
}

TEST_CASE("strategies: runs and fibers forced by an option", "[formats][strategies]") {
  constexpr bool device = is_device_space<TestSpace>;
  auto const tensor     = small_tensor(Kind::runs_at_borders, 3);
  using Floats          = detail::Sorted<float, std::uint32_t, TestSpace>;
  using Doubles         = detail::Sorted<double, std::uint32_t, TestSpace>;
  using Trees           = detail::BCsf<float, std::uint32_t, TestSpace>;
  CHECK(is_there<Floats>(tensor, {.runs = "each"}));
  CHECK(is_there<Floats>(tensor, {.runs = "hoisted"}));
  CHECK(is_there<Doubles>(tensor, {.runs = "each"}));
  CHECK(is_there<Doubles>(tensor, {.runs = "hoisted"}) == !device);
  CHECK(is_there<Trees>(tensor, {.fibers = "summed"}));
  CHECK(is_there<Trees>(tensor, {.fibers = "each"}) == device);
}

TEST_CASE("strategies: a walk that this build's library has not is refused", "[formats][strategies]") {
  TestSpace const space;
  auto const coo = to_device<float, std::uint32_t>(space, small_tensor(Kind::shuffled, 3));
  using Alto     = detail::Alto<float, std::uint32_t, TestSpace>;
  using Blco     = detail::Blco<float, std::uint32_t, TestSpace>;
  detail::AltoOptions alto;
  alto.walk = detail::AltoStrategy<TestSpace>::walk;
  CHECK(Alto::build(space, coo, alto).nnz() == coo.nnz());
  alto.walk = alto.walk == "private" ? "atomics" : "private";
  CHECK_THROWS_AS(Alto::build(space, coo, alto), UsageError);
  detail::BlcoOptions blco;
  blco.walk = "tiles";  // there on every backend
  CHECK(Blco::build(space, coo, blco).chunks().count() == 0);
  blco.walk = "chunks";
  if (detail::BlcoStrategy<TestSpace>::has_chunks)
    CHECK(Blco::build(space, coo, blco).chunks().count() > 0);
  else
    CHECK_THROWS_AS(Blco::build(space, coo, blco), UsageError);
}

}  // namespace
}  // namespace polyad::test
