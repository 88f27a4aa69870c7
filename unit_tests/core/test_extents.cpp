// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <type_traits>
#include <vector>

#include "polyad/core/types.hpp"
#include "support/catch.hpp"
#include "support/message_of.hpp"

namespace polyad::test {

TEST_CASE("extents: order 1 to 16", "[core]") {
  static_assert(std::is_trivially_copyable_v<Extents>);
  for (std::size_t order = 1; order <= 16; ++order) {
    std::vector<count_t> sizes;
    for (std::size_t n = 0; n < order; ++n) sizes.push_back((count_t(1) << 40) + n);
    Extents const extents{std::span<count_t const>(sizes)};
    REQUIRE(extents.order() == static_cast<int>(order));
    for (std::size_t n = 0; n < order; ++n) REQUIRE(extents[static_cast<int>(n)] == sizes[n]);
  }
  CHECK(Extents().order() == 0);
}

TEST_CASE("extents: other orders are refused with their number", "[core]") {
  std::vector<count_t> const sizes(17, 2);
  std::string const text = message_of([&] { Extents{std::span<count_t const>(sizes)}; });
  CHECK(text.find("17") != std::string::npos);
  CHECK(text.find("1 to 16") != std::string::npos);
  CHECK_THROWS_AS(Extents(std::span<count_t const>()), UsageError);
}

TEST_CASE("extents: equality looks at the order and at every size", "[core]") {
  CHECK(Extents{2, 3, 4} == Extents{2, 3, 4});
  CHECK_FALSE(Extents{2, 3, 4} == Extents{2, 3});
  CHECK_FALSE(Extents{2, 3} == Extents{2, 3, 4});
  CHECK_FALSE(Extents{2, 3, 4} == Extents{2, 3, 5});
  CHECK_FALSE(Extents{1, 3, 4} == Extents{2, 3, 4});
  CHECK_FALSE(Extents{2, 3} == Extents());
}

TEST_CASE("extents: text for messages", "[core]") {
  CHECK(to_string(Extents{30}) == "30");
  CHECK(to_string(Extents{30, 24, 18446744073709551615ULL}) == "30 x 24 x 18446744073709551615");
  CHECK(to_string(Extents()).empty());
}

TEST_CASE("extents: a mode is one of 0 ... N - 1", "[core]") {
  Extents const extents{2, 3, 4};
  for (int const mode : {0, 1, 2}) CHECK_NOTHROW(expect_mode(mode, extents));
  CHECK_THROWS_AS(expect_mode(-1, extents), UsageError);
  std::string const text = message_of([&] { expect_mode(3, extents); });
  CHECK(text.find("mode 3") != std::string::npos);
  CHECK(text.find("order 3") != std::string::npos);
  CHECK_THROWS_AS(expect_mode(0, Extents()), UsageError);
}

}  // namespace polyad::test
