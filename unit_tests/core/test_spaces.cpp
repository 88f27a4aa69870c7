// SPDX-License-Identifier: BSD-3-Clause
// Sizes that overflow or do not fit are refused before anything is allocated.
#include <Kokkos_Core.hpp>
#include <limits>
#include <string>

#include "polyad/core/spaces.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

constexpr count_t largest = std::numeric_limits<count_t>::max();

TEST_CASE("spaces: rounding up a quotient", "[core]") {
  CHECK(ceil_div(0, 4) == 0);
  CHECK(ceil_div(1, 4) == 1);
  CHECK(ceil_div(4, 4) == 1);
  CHECK(ceil_div(5, 4) == 2);
  CHECK(ceil_div(count_t(1) << 40, 3) == ((count_t(1) << 40) + 2) / 3);
}

TEST_CASE("spaces: a product beyond 64 bits is refused by name", "[core]") {
  CHECK(checked_product("a", 0, largest) == 0);
  CHECK(checked_product("a", 1, largest) == largest);
  CHECK(checked_product("a", (count_t(1) << 32) - 1, (count_t(1) << 32) + 1) == largest);
  try {
    static_cast<void>(checked_product("the factor of mode 7", count_t(1) << 32, count_t(1) << 32));
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.array() == "the factor of mode 7");
    CHECK(error.exit_code() == ExitCode::out_of_memory);
  }
}

TEST_CASE("spaces: the free memory is known", "[core]") {
  count_t const bytes = available_memory(TestSpace());
  CHECK(bytes > (count_t(1) << 20));
  CHECK(bytes < (count_t(1) << 50));
}

TEST_CASE("spaces: an array that does not fit is refused with its name and bytes", "[core]") {
  TestSpace const space;
  CHECK_NOTHROW(expect_fits(space, "a", 0, 8));
  CHECK_NOTHROW(expect_fits(space, "a", 1000, 8));
  count_t const elements = count_t(1) << 50;
  try {
    expect_fits(space, "the output", elements, 8);
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.array() == "the output");
    CHECK(error.bytes() == elements * 8);
    CHECK(std::string(error.what()).find("bytes are free") != std::string::npos);
  }
  CHECK_THROWS_AS(expect_fits(space, "the output", largest, 2), MemoryError);
}

TEST_CASE("spaces: a launch holds at most 2^31 - 1 teams", "[core]") {
  TestSpace const space;
  CHECK_THROWS_AS(team_policy(space, LaunchShape{count_t(1) << 31, 1, 1}), UsageError);
  auto const policy = team_policy(space, LaunchShape{12345, 1, 1});
  CHECK(policy.league_size() == 12345);
  CHECK(policy.team_size() == 1);
}

TEST_CASE("spaces: a device is what the host cannot read", "[core]") {
  STATIC_REQUIRE_FALSE(is_device_space<Kokkos::DefaultHostExecutionSpace>);
  CHECK(is_device_space<TestSpace> ==
        !Kokkos::SpaceAccessibility<Kokkos::HostSpace, TestSpace::memory_space>::accessible);
}

}  // namespace
}  // namespace polyad::test
