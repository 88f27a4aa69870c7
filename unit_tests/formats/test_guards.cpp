// SPDX-License-Identifier: BSD-3-Clause
// Guards of the rules for kernels (docs/developer/strategies.md), seen through Kokkos' tools interface:
// kernels run on the instance they were given, carry our labels, and an mttkrp allocates nothing and does
// not wait.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "core/host_side.hpp"
#include "formats/registry.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/kokkos_events.hpp"

namespace polyad::test {
namespace {

TEST_CASE("guards: the recorder sees what it should", "[formats][guards]") {
  TestSpace const space = other_instance<TestSpace>();
  // Kokkos gives all instances of a host backend one number: there the guard below sees the backend only.
  if (is_device_space<TestSpace>) REQUIRE(instance_number(space) != instance_number(TestSpace()));
  KokkosEvents const events;
  Kokkos::View<double*, TestSpace::device_type> const a("polyad::a", 3);
  CHECK(events.lines(Event::Kind::allocation) == std::vector<std::string>{"polyad::a"});
  space.fence("one instance");
  Kokkos::fence("all");
  bool one = false, all = false;
  for (auto const& fence : events.of(Event::Kind::fence)) {
    if (fence.name == "one instance") one = !is_global(fence) && fence.instance == instance_number(space);
    if (fence.name == "all") all = is_global(fence);
  }
  CHECK(one);
  CHECK(all);
  Kokkos::deep_copy(space, Kokkos::create_mirror_view(a), a);
  CHECK(events.of(Event::Kind::deep_copy).size() == 1);
}

TEST_CASE("guards: building and mttkrp run on the instance that they are given", "[formats][guards]") {
  TestSpace const space = other_instance<TestSpace>();
  auto const tensor     = small_tensor(Kind::duplicates, 3);
  Random random(1);
  auto const factors = to_device<double>(TestSpace(), random_factors(random, tensor.extents, 5));
  auto const coo     = to_device<double, std::uint32_t>(TestSpace(), tensor);
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    using F = typename decltype(format)::type;
    CAPTURE(F::name);
    KokkosEvents const events;
    auto const summed = sum_duplicates(space, coo).tensor;
    F const X         = F::build(space, summed, {});
    auto scratch      = X.make_workspace(space, 5);
    auto const V      = make_factor_matrix<double>(space, "polyad::test", tensor.extents[1], 5);
    mttkrp(space, X, factors, 1, scratch, V);
    CHECK(!events.of(Event::Kind::kernel).empty());
    // A streamed tensor also computes on the instances of its workspace.
    std::vector<std::uint32_t> allowed{instance_number(space)};
    // One that is to be larger than a device is sorted by the host.
    if constexpr (offers<F>(Capability::streaming)) allowed.push_back(instance_number(host_instance(space)));
    if constexpr (requires { scratch.buffers; })
      for (auto const& buffer : scratch.buffers) allowed.push_back(instance_number(buffer.instance));
    for (auto const& kernel : events.of(Event::Kind::kernel)) {
      CAPTURE(kernel.name, kernel.instance, allowed);
      CHECK(std::find(allowed.begin(), allowed.end(), kernel.instance) != allowed.end());
    }
    space.fence("polyad::test");
  });
}

TEST_CASE("guards: an mttkrp allocates nothing, waits for nothing and copies nothing", "[formats][guards]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 4);
  Random random(1);
  auto const coo = to_device<double, std::uint32_t>(space, tensor);
  for (std::size_t const rank : {3, 33, 130}) {
    auto const factors = to_device<double>(space, random_factors(random, tensor.extents, rank));
    for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
      using F      = typename decltype(format)::type;
      F const X    = F::build(space, coo, {});
      auto scratch = X.make_workspace(space, rank);
      for (int mode = 0; mode < 4; ++mode) {
        auto const V = make_factor_matrix<double>(space, "polyad::test", coo.extents()[mode], rank);
        mttkrp(space, X, factors, mode, scratch, V);  // Kokkos may grow its own scratch once
        space.fence("polyad::test");
        CAPTURE(F::name, mode, rank);
        KokkosEvents const events;
        mttkrp(space, X, factors, mode, scratch, V);
        CHECK(events.lines(Event::Kind::allocation) == std::vector<std::string>{});
        CHECK(events.lines(Event::Kind::fence) == std::vector<std::string>{});
        for (auto const& copy : events.of(Event::Kind::deep_copy)) CHECK(copy.fill);  // V = 0
        for (auto const& kernel : events.of(Event::Kind::kernel)) {
          CAPTURE(kernel.name);
          CHECK(is_known_label(kernel.name));
        }
        space.fence("polyad::test");
      }
    });
  }
}

}  // namespace
}  // namespace polyad::test
