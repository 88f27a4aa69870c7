// SPDX-License-Identifier: BSD-3-Clause
// The random numbers against values computed once with unlimited integers (Python), on the host and in a
// kernel: equal to the last bit.
#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

struct Known {
  std::uint64_t seed, mode, row, column;
  std::uint64_t bits;
  double uniform;
};

constexpr std::array<Known, 8> known_values{{
    {0, 0, 0, 0, 0x2F2A45881D06C3ADULL, 0x1.79522c40e8360p-3},
    {0, 0, 0, 1, 0x26E9B9B126B89ADAULL, 0x1.374dcd8935c4cp-3},
    {0, 0, 1, 0, 0x111F7B3BCA172522ULL, 0x1.11f7b3bca1720p-4},
    {0, 1, 0, 0, 0xA95E878202EA98D0ULL, 0x1.52bd0f0405d53p-1},
    {0, 2, 1087, 15, 0xEBD9A342D2A973E0ULL, 0x1.d7b34685a552ep-1},
    {1, 0, 0, 0, 0x92441A131BC6C3DEULL, 0x1.24883426378d8p-1},
    {12345678901234567890ULL, 15, 4294967296ULL, 299, 0x7CD5499390907FF6ULL, 0x1.f355264e4241ep-2},
    {~0ULL, ~0ULL, ~0ULL, ~0ULL, 0xD9485F5A0FB87A2DULL, 0x1.b290beb41f70fp-1},
}};

struct Evaluate {
  Kokkos::View<std::uint64_t* [4], Kokkos::LayoutRight, TestSpace::device_type> arguments;
  Kokkos::View<std::uint64_t*, TestSpace::device_type> bits;
  Kokkos::View<double*, TestSpace::device_type> uniform;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    bits(i)    = counter_bits(arguments(i, 0), arguments(i, 1), arguments(i, 2), arguments(i, 3));
    uniform(i) = counter_uniform(arguments(i, 0), arguments(i, 1), arguments(i, 2), arguments(i, 3));
  }
};

TEST_CASE("counter_rng: known values on the host", "[core]") {
  for (auto const& known : known_values) {
    CHECK(counter_bits(known.seed, known.mode, known.row, known.column) == known.bits);
    CHECK(counter_uniform(known.seed, known.mode, known.row, known.column) == known.uniform);
  }
}

TEST_CASE("counter_rng: the same bits in a kernel", "[core]") {
  TestSpace const space;
  std::size_t const count = 5000;
  Evaluate const evaluate{decltype(Evaluate::arguments)("arguments", count),
                          decltype(Evaluate::bits)("bits", count),
                          decltype(Evaluate::uniform)("uniform", count)};
  auto const arguments = Kokkos::create_mirror_view(evaluate.arguments);
  Random random(1);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t a = 0; a < 4; ++a) arguments(i, a) = random();
  for (std::size_t i = 0; i < known_values.size(); ++i) {
    arguments(i, 0) = known_values[i].seed;
    arguments(i, 1) = known_values[i].mode;
    arguments(i, 2) = known_values[i].row;
    arguments(i, 3) = known_values[i].column;
  }
  Kokkos::deep_copy(evaluate.arguments, arguments);
  Kokkos::parallel_for("polyad::test", Kokkos::RangePolicy<TestSpace>(space, 0, count), evaluate);
  space.fence("polyad::test");
  auto const bits    = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), evaluate.bits);
  auto const uniform = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), evaluate.uniform);
  for (std::size_t i = 0; i < known_values.size(); ++i) {
    REQUIRE(bits(i) == known_values[i].bits);
    REQUIRE(uniform(i) == known_values[i].uniform);
  }
  std::size_t different = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const expected = counter_bits(arguments(i, 0), arguments(i, 1), arguments(i, 2), arguments(i, 3));
    if (bits(i) != expected || uniform(i) != static_cast<double>(expected >> 11) * 0x1p-53) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("counter_rng: numbers lie in [0, 1), spread evenly, and depend on every argument", "[core]") {
  std::size_t const count = 100000;
  std::array<std::size_t, 10> histogram{};
  for (std::size_t row = 0; row < count; ++row) {
    double const u = counter_uniform(3, 1, row, 7);
    REQUIRE((u >= 0 && u < 1));
    ++histogram[static_cast<std::size_t>(u * 10)];
  }
  // Binomial with p = 1/10: the standard deviation is 95; six of them.
  for (auto const hits : histogram) CHECK((hits > 9430 && hits < 10570));

  std::set<std::uint64_t> distinct;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t mode = 0; mode < 10; ++mode)
      for (std::uint64_t row = 0; row < 10; ++row)
        for (std::uint64_t column = 0; column < 10; ++column)
          distinct.insert(counter_bits(seed, mode, row, column));
  CHECK(distinct.size() == 10000);
}

}  // namespace
}  // namespace polyad::test
