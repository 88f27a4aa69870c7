// SPDX-License-Identifier: BSD-3-Clause
// What CP-ALS promises in addition to its numbers, seen through Kokkos' tools interface. Inside an iteration
// nothing is allocated, nothing but the numbers of the fit goes to the host, and the host waits for its own
// instance only. Everything carries our labels.
#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/kokkos_events.hpp"

namespace polyad::test {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("CP-ALS: an iteration allocates nothing and copies only the fit's numbers", "[cp][guards]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, distinct(small_tensor(Kind::shuffled, 3)));
  for (count_t const rank : {3, 33, 150})
    for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
      using F   = typename decltype(format)::type;
      F const X = F::build(space, coo, {});
      CpAlsOptions options;
      options.rank = rank;
      if (rank == 33) options.updates = {ridge(0.1)};
      options.max_iterations = 5;
      options.tolerance      = 0;
      KokkosEvents events;
      Lines allocations, fences, copies;
      std::size_t kernels = 0;
      // From the end of the second iteration (Kokkos may grow its own scratch in the first) to the end of the
      // fourth: two iterations.
      static_cast<void>(cp_als(space, X, options, [&](CpAlsIteration const& iteration) {
        if (iteration.iteration == 2) events.forget();
        if (iteration.iteration == 4) {
          allocations = events.lines(Event::Kind::allocation);
          kernels     = events.of(Event::Kind::kernel).size();
          for (auto const& fence : events.of(Event::Kind::fence))
            if (is_global(fence) || fence.instance != instance_number(space))
              fences.push_back("not its own: " + fence.name);
            else if (fence.name.rfind("polyad::", 0) == 0)
              fences.push_back(fence.name);
          for (auto const& copy : events.of(Event::Kind::deep_copy))
            // A copy of the nonzeros for each mode, in host memory, is sent for each MTTKRP.
            if (!copy.fill && copy.name.rfind("polyad::stretch_", 0) != 0) copies.push_back(copy.name);
        }
        return true;
      }));
      CAPTURE(F::name, rank);
      CHECK(allocations == Lines{});
      CHECK(fences == Lines{"polyad::cp_als", "polyad::cp_als"});
      CHECK(copies.size() == 2);
      for (auto const& copy : copies) CHECK(copy.rfind("polyad::fit_numbers", 0) == 0);
      // At least inverse, MTTKRP and update for each of three modes, twice; what a BLAS launches is not seen.
      CHECK(kernels >= 2 * 3 * 3);
    });
}

TEST_CASE("CP-ALS: every kernel, allocation and region of a run is labelled", "[cp][guards]") {
  TestSpace const space;
  auto const coo = to_device<float, std::uint32_t>(space, distinct(small_tensor(Kind::shuffled, 4)));
  for_each_format<float, std::uint32_t, TestSpace>([&](auto format) {
    using F = typename decltype(format)::type;
    CAPTURE(F::name);
    KokkosEvents const events;
    F const X = F::build(space, coo, {});
    CpAlsOptions options;
    options.rank           = 7;
    options.max_iterations = 2;
    options.time_phases    = true;
    auto const result      = cp_als(space, X, options, [](CpAlsIteration const&) { return true; });
    CHECK(result.history.size() == 2);
    CHECK(events.all().size() > 50);
    std::size_t open = 0;
    for (auto const& event : events.all()) {
      CAPTURE(static_cast<int>(event.kind), event.name);
      if (event.kind == Event::Kind::region && event.name.empty()) {
        REQUIRE(open > 0);
        --open;
        continue;
      }
      if (event.kind == Event::Kind::region) ++open;
      if (event.kind == Event::Kind::kernel || event.kind == Event::Kind::allocation)
        CHECK(is_known_label(event.name));
      if (event.kind == Event::Kind::region) CHECK(event.name.rfind("polyad::", 0) == 0);
    }
    CHECK(open == 0);
  });
}

TEST_CASE("CP-ALS: all kernels run on the instance that it is given, or the algebra's own", "[cp][guards]") {
  TestSpace const space = other_instance<TestSpace>();
  auto const tensor     = distinct(small_tensor(Kind::shuffled, 3));
  auto const coo        = to_device<double, std::uint32_t>(TestSpace(), tensor);
  TestSpace().fence("polyad::test");
  CpAlsOptions options;
  options.rank           = 5;
  options.max_iterations = 4;
  options.tolerance      = 0;
  auto const run         = [&](TestSpace const& instance) {
    return cp_als(instance, CooPermuted<double, std::uint32_t, TestSpace>::build(instance, coo), options,
                  [](CpAlsIteration const&) { return true; });
  };
  double const expected = run(TestSpace()).fit;
  KokkosEvents const events;
  auto const result = run(space);
  CHECK(std::abs(result.fit - expected) < 1e-12);
  std::size_t kernels = 0;
  for (auto const& kernel : events.of(Event::Kind::kernel)) {
    // The highest byte is the kind of device: the host fills its own arrays while a device computes.
    if (kernel.instance >> 24 != instance_number(space) >> 24) continue;
    CAPTURE(kernel.name);
    bool const beside =
        (kernel.name == "polyad::hadamard_of_grams" || kernel.name == "polyad::normal_equations") &&
        kernel.instance != instance_number(TestSpace());
    CHECK((beside || kernel.instance == instance_number(space)));
    ++kernels;
  }
  CHECK(kernels >= 4 * 3 * 5);
}

}  // namespace
}  // namespace polyad::test
