// SPDX-License-Identifier: BSD-3-Clause
// Phases are profiling regions, and seconds only where asked for.
#include <Kokkos_Core.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/phase_timer.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/kokkos_events.hpp"

namespace polyad::test {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("phase timer: untimed phases are regions and nothing else", "[core]") {
  TestSpace const space;
  PhaseTimer timer;
  int runs = 0;
  KokkosEvents const events;
  timer(space, "outer", [&] { timer(space, "inner", [&] { ++runs; }); });
  CHECK(runs == 1);
  CHECK(events.lines(Event::Kind::region) == Lines{"polyad::outer", "polyad::inner", "", ""});
  CHECK(events.lines(Event::Kind::fence).empty());
  CHECK(timer.seconds().empty());
}

TEST_CASE("phase timer: seconds add up by name until the reset", "[core]") {
  TestSpace const space;
  PhaseTimer timer(true);
  auto const wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  timer(space, "wait", wait);
  double const once = timer.seconds().at("wait");
  CHECK(once >= 0.005);
  timer(space, "wait", wait);
  CHECK(timer.seconds().at("wait") >= once + 0.005);
  timer(space, "nothing", [] {});
  CHECK(timer.seconds().size() == 2);
  CHECK(timer.seconds().at("nothing") < timer.seconds().at("wait"));
  timer.reset();
  CHECK(timer.seconds().empty());
}

TEST_CASE("phase timer: a phase that throws leaves its region", "[core]") {
  TestSpace const space;
  PhaseTimer timer;
  KokkosEvents const events;
  CHECK_THROWS_AS(timer(space, "broken", [] { throw std::logic_error("broken"); }), std::logic_error);
  CHECK(events.lines(Event::Kind::region) == Lines{"polyad::broken", ""});
}

}  // namespace
}  // namespace polyad::test
