// SPDX-License-Identifier: BSD-3-Clause
// sort_pairs against std::stable_sort.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/sort.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

template <class T>
using Array = Kokkos::View<T*, TestSpace::device_type>;

template <class T>
Array<T> copy_of(std::vector<T> const& data) {
  Array<T> result("numbers", data.size());
  auto const host = Kokkos::create_mirror_view(result);
  std::copy(data.begin(), data.end(), host.data());
  Kokkos::deep_copy(result, host);
  return result;
}

template <class T>
std::vector<T> content(Array<T> const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return std::vector<T>(host.data(), host.data() + host.size());
}

/// Sorts by the lowest `key_bits` bits; the values are the positions, so that an unstable sort shows.
template <class Key, class Value>
void expect_sorted(std::vector<Key> const& keys, int key_bits) {
  TestSpace const space;
  Key const mask = key_bits >= std::numeric_limits<Key>::digits ? static_cast<Key>(~Key(0))
                                                                : static_cast<Key>((Key(1) << key_bits) - 1);
  std::vector<Value> positions(keys.size());
  std::iota(positions.begin(), positions.end(), Value(0));
  auto const device_keys   = copy_of(keys);
  auto const device_values = copy_of(positions);
  sort_pairs(space, device_keys, device_values, key_bits);
  space.fence("polyad::test");

  std::stable_sort(positions.begin(), positions.end(), [&](Value a, Value b) {
    return (keys[static_cast<std::size_t>(a)] & mask) < (keys[static_cast<std::size_t>(b)] & mask);
  });
  std::vector<Key> sorted_keys;
  for (Value const p : positions) sorted_keys.push_back(keys[static_cast<std::size_t>(p)]);
  CHECK((content(device_keys) == sorted_keys));
  CHECK((content(device_values) == positions));
}

/// Around the borders at which the host's sort begins to use 1, 2, 3 ... 7 chunks of at least 4096 pairs.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> result{0, 1, 2, 3, 255, 256, 257, 100003};
  for (std::size_t const chunks : {1, 2, 3, 7, 8})
    for (std::size_t const off : {0, 1, 2}) result.push_back(4096 * chunks - 1 + off);
  return result;
}

template <class Key, class Value>
void sort_all_lengths() {
  constexpr int width = std::numeric_limits<Key>::digits;
  for (std::size_t const length : lengths()) {
    CAPTURE(length, sizeof(Key), sizeof(Value));
    Random random(length);
    std::vector<Key> keys(length);
    for (Key& key : keys) key = static_cast<Key>(random());
    expect_sorted<Key, Value>(keys, width);
    for (Key& key : keys) key = static_cast<Key>(random_below(random, 1000));  // many equal ones
    expect_sorted<Key, Value>(keys, bits_for(1000));
  }
}

TEST_CASE("sort: all lengths, all types", "[core]") {
  sort_all_lengths<std::uint32_t, std::uint32_t>();
  sort_all_lengths<std::uint32_t, std::uint64_t>();
  sort_all_lengths<std::uint64_t, std::uint32_t>();
  sort_all_lengths<std::uint64_t, std::uint64_t>();
}

TEST_CASE("sort: special keys keep their order", "[core]") {
  std::size_t const length = 20000;
  Random random(3);
  std::vector<std::uint64_t> keys(length, 42);
  expect_sorted<std::uint64_t, std::uint32_t>(keys, 64);  // all equal
  for (std::size_t p = 0; p < length; ++p) keys[p] = p;
  expect_sorted<std::uint64_t, std::uint32_t>(keys, 64);  // sorted
  std::reverse(keys.begin(), keys.end());
  expect_sorted<std::uint64_t, std::uint32_t>(keys, 64);
  // Only the highest byte differs, only the lowest, only one in the middle: passes that change nothing are
  // left out, and an odd number of passes leaves the result in the other buffer.
  for (int const shift : {0, 24, 56}) {
    for (auto& key : keys) key = 0x0101010101010101ULL ^ (random_below(random, 256) << shift);
    expect_sorted<std::uint64_t, std::uint64_t>(keys, 64);
  }
  // Two digits, an even number of passes.
  for (auto& key : keys) key = random_below(random, 65536) << 32;
  expect_sorted<std::uint64_t, std::uint64_t>(keys, 64);
  // Two values only, first all of one, then all of the other, in chunks.
  for (std::size_t p = 0; p < length; ++p) keys[p] = p < length / 2 ? 1 : 0;
  expect_sorted<std::uint64_t, std::uint64_t>(keys, 1);
  // One key that is smaller, at the very end.
  std::fill(keys.begin(), keys.end(), ~std::uint64_t(0));
  keys.back() = 0;
  expect_sorted<std::uint64_t, std::uint64_t>(keys, 64);
}

TEST_CASE("sort: bits above key_bits do not count", "[core]") {
  Random random(5);
  std::vector<std::uint64_t> keys(9000);
  for (auto& key : keys) key = random();
  for (int const key_bits : {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64}) {
    CAPTURE(key_bits);
    expect_sorted<std::uint64_t, std::uint64_t>(keys, key_bits);
  }
  std::vector<std::uint32_t> const narrow(keys.begin(), keys.end());
  for (int const key_bits : {1, 12, 31, 32}) {
    CAPTURE(key_bits);
    expect_sorted<std::uint32_t, std::uint32_t>(narrow, key_bits);
  }
  expect_sorted<std::uint32_t, std::uint32_t>(narrow, 0);  // nothing counts: nothing moves
}

TEST_CASE("sort: the lengths must agree", "[core]") {
  TestSpace const space;
  CHECK_THROWS_AS(sort_pairs(space, Array<std::uint32_t>("keys", 3), Array<std::uint32_t>("values", 4), 32),
                  UsageError);
}

TEST_CASE("sort: how many bits the numbers below a count need", "[core]") {
  CHECK(bits_for(0) == 0);
  CHECK(bits_for(1) == 0);
  CHECK(bits_for(2) == 1);
  CHECK(bits_for(3) == 2);
  CHECK(bits_for(256) == 8);
  CHECK(bits_for(257) == 9);
  CHECK(bits_for(count_t(1) << 32) == 32);
  CHECK(bits_for(std::numeric_limits<count_t>::max()) == 64);
}

}  // namespace
}  // namespace polyad::test
