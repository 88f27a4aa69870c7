// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/core/memory_plan.hpp"
#include "support/catch.hpp"

using polyad::MemoryPlan;

TEST_CASE("a plan knows its peak, and what is the most of it", "[core]") {
  MemoryPlan plan;
  REQUIRE(plan.peak() == 0);
  auto list = plan.hold("the list", 100);
  {
    auto const keys = plan.hold("the keys", 30);
    plan.pass("the other keys", 40);
    REQUIRE(plan.held() == 130);
  }
  REQUIRE(plan.held() == 100);
  REQUIRE(plan.peak() == 170);
  REQUIRE(plan.largest() == "the list");
  list.release();
  list.release();  // nothing more
  REQUIRE(plan.held() == 0);
  std::vector<MemoryPlan::Held> factors;
  for (std::uint64_t k = 0; k < 10; ++k) factors.push_back(plan.hold("factor " + std::to_string(k), 10 + k));
  REQUIRE(plan.held() == 145);
  REQUIRE(plan.peak() == 170);
  auto moved = std::move(factors[9]);
  factors.clear();
  REQUIRE(plan.held() == 19);
  moved = plan.hold("a larger one", 200);
  REQUIRE(plan.held() == 200);
  REQUIRE(plan.peak() == 219);  // for a moment both are there
  REQUIRE(plan.largest() == "a larger one");
  REQUIRE(plan.largest_bytes() == 200);
  REQUIRE_NOTHROW(plan.expect_fits(219, "the run"));
  try {
    plan.expect_fits(218, "the run");
    FAIL("a run of 219 bytes fits 218");
  } catch (polyad::MemoryError const& error) {
    REQUIRE(error.array() == "the run");
    REQUIRE(error.bytes() == 219);
    REQUIRE(std::string(error.what()).find("a larger one") != std::string::npos);
  }
}

TEST_CASE("a plan of more bytes than 64 bits count stays within them", "[core]") {
  std::uint64_t const huge = std::uint64_t(1) << 63;
  REQUIRE(MemoryPlan::product({huge, huge}) == MemoryPlan::most);
  REQUIRE(MemoryPlan::product({huge, huge, 0}) == 0);
  REQUIRE(MemoryPlan::product({3, 5, 7}) == 105);
  REQUIRE(MemoryPlan::sum(huge, huge) == MemoryPlan::most);
  REQUIRE(MemoryPlan::sum(2, 3) == 5);
  MemoryPlan plan;
  {
    auto const one   = plan.hold("one", huge);
    auto const other = plan.hold("another", huge);
    REQUIRE(plan.held() == MemoryPlan::most);
  }
  REQUIRE(plan.held() == 0);
  REQUIRE(plan.peak() == MemoryPlan::most);
  REQUIRE_THROWS_AS(plan.expect_fits(~std::uint64_t(0) / 32, "the run"), polyad::MemoryError);
}
