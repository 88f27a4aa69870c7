// SPDX-License-Identifier: BSD-3-Clause
// ALTO's linear order: the layout against one written down by hand and against halving a box in plain words,
// encode and decode on host and device, and the order of the nonzeros against std::stable_sort.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "tensor/linearize.hpp"

namespace polyad::test {
namespace {

static_assert(std::is_trivially_copyable_v<LinearLayout>);

using Sizes = std::vector<count_t>;

Extents to_extents(Sizes const& sizes) {
  return Extents(std::span<count_t const>(sizes));
}

/// (mode, bit) of every bit of the interleaved number, the uppermost first.
std::vector<std::pair<int, int>> layout_of(Sizes const& sizes) {
  LinearLayout const layout(to_extents(sizes));
  std::vector<std::pair<int, int>> result;
  for (int b = layout.bits() - 1; b >= 0; --b) result.emplace_back(layout.mode_at(b), layout.bit_at(b));
  return result;
}

/// Sizes with the number of bits that the name of each says, at and around whole words.
std::vector<std::pair<int, Sizes>> sizes_by_bits() {
  count_t const one = 1;
  std::vector<std::pair<int, Sizes>> cases{
      {0, {1}},
      {0, {1, 1, 1}},
      {6, {4, 8, 2}},
      {63, {one << 21, one << 21, one << 21}},
      {64, {one << 31, one << 31, 3}},
      {65, {one << 31, one << 31, 5}},
      {78, {one << 30, 1, one << 30, 200000}},
      {95, {one << 31, one << 32, one << 32}},
      {128, {one << 32, one << 32, one << 32, one << 32}},
      {128, {~count_t(0), ~count_t(0)}},
      {140, Sizes(10, 10000)},
  };
  cases.emplace_back(1024, Sizes(16, ~count_t(0)));
  return cases;
}

/// The words of one tuple by halving, the lowest first: an implementation that keeps no table.
std::vector<std::uint64_t> encoded(Sizes const& sizes, std::vector<std::uint64_t> const& index) {
  std::vector<int> left;
  for (auto const size : sizes) {
    int bits = 0;
    while (bits < 64 && (size - 1) >> bits != 0) ++bits;
    left.push_back(bits);
  }
  std::vector<bool> bits;  // uppermost first
  for (int remaining = std::accumulate(left.begin(), left.end(), 0); remaining > 0; --remaining) {
    std::size_t longest = 0;
    for (std::size_t n = 1; n < sizes.size(); ++n)
      if (std::pair(left[n], sizes[n]) >= std::pair(left[longest], sizes[longest])) longest = n;
    bits.push_back((index[longest] >> --left[longest] & 1) != 0);
  }
  std::vector<std::uint64_t> words((bits.size() + 63) / 64);
  for (std::size_t b = 0; b < bits.size(); ++b)
    if (bits[bits.size() - 1 - b]) words[b / 64] |= std::uint64_t(1) << b % 64;
  return words;
}

template <class Index>
struct RoundTrip {
  LinearLayout layout;
  Kokkos::View<Index**, Kokkos::LayoutRight, TestSpace::device_type> indices;
  Kokkos::View<std::uint64_t**, Kokkos::LayoutRight, TestSpace::device_type> words;
  KOKKOS_FUNCTION void operator()(int p) const {
    layout.encode(&indices(p, 0), &words(p, 0));
    layout.decode(&words(p, 0), &indices(p, 0));
  }
};

template <class Index>
void expect_round_trip(HostTensor const& tensor) {
  TestSpace const space;
  auto const coo = to_device<double, Index>(space, tensor);
  LinearLayout const layout(coo.extents());
  auto const before = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), coo.indices());
  RoundTrip<Index> const trip{
      layout, coo.indices(),
      Kokkos::View<std::uint64_t**, Kokkos::LayoutRight, TestSpace::device_type>(
          "words", tensor.nnz(), std::max<std::size_t>(1, std::size_t(layout.words())))};
  Kokkos::parallel_for("polyad::test", Kokkos::RangePolicy<TestSpace>(space, 0, int(tensor.nnz())), trip);
  space.fence("polyad::test");
  auto const after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), coo.indices());
  auto const words = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), trip.words);
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    std::vector<std::uint64_t> index;
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      index.push_back(tensor.index(p, n));
      REQUIRE(after(p, n) == before(p, n));
    }
    auto const expected = encoded(tensor.extents, index);
    for (std::size_t w = 0; w < expected.size(); ++w) REQUIRE(words(p, w) == expected[w]);
  }
}

/// The order against std::stable_sort of the words, the uppermost first.
template <class Index, class Ordinal>
void expect_ordered(HostTensor const& tensor) {
  TestSpace const space;
  std::vector<std::vector<std::uint64_t>> keys;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    auto words = encoded(tensor.extents, {&tensor.indices[p * tensor.order()],
                                          &tensor.indices[p * tensor.order()] + tensor.order()});
    std::reverse(words.begin(), words.end());
    keys.push_back(std::move(words));
  }
  std::vector<std::size_t> expected(tensor.nnz());
  std::iota(expected.begin(), expected.end(), std::size_t(0));
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  auto const coo  = to_device<float, Index>(space, tensor);
  auto const host = Kokkos::create_mirror_view_and_copy(
      Kokkos::HostSpace(), linear_order<Ordinal>(space, coo, LinearLayout(coo.extents())));
  CAPTURE(tensor.name, sizeof(Index), sizeof(Ordinal));
  REQUIRE(host.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(host(i) == expected[i]);
}

TEST_CASE("linear layout: written down by hand", "[tensor]") {
  using Pairs = std::vector<std::pair<int, int>>;
  CHECK(layout_of({4, 8, 2}) == Pairs{{1, 2}, {1, 1}, {0, 1}, {1, 0}, {0, 0}, {2, 0}});
  // Equal modes are interleaved as in Morton's order.
  CHECK(layout_of({4, 4, 4}) == Pairs{{2, 1}, {1, 1}, {0, 1}, {2, 0}, {1, 0}, {0, 0}});
  // Three rows need two bits, as four do; the longer mode goes first.
  CHECK(layout_of({4, 1, 3}) == Pairs{{0, 1}, {2, 1}, {0, 0}, {2, 0}});
  CHECK(layout_of({1, 1}).empty());
  CHECK(layout_of({5}) == Pairs{{0, 2}, {0, 1}, {0, 0}});
}

TEST_CASE("linear layout: in parts", "[tensor]") {
  using Pairs         = std::vector<std::pair<int, int>>;
  auto const in_parts = [](Extents const& extents, std::uint32_t first, int slab, int slab_bits) {
    LinearLayout const layout(extents, first, slab, slab_bits);
    Pairs result;
    for (int b = layout.bits() - 1; b >= 0; --b) result.emplace_back(layout.mode_at(b), layout.bit_at(b));
    return result;
  };
  Extents const extents{4, 8, 2};
  CHECK(in_parts(extents, 0, 0, 0) == layout_of({4, 8, 2}));
  CHECK(in_parts(extents, 0b001, 0, 0) == Pairs{{0, 1}, {0, 0}, {1, 2}, {1, 1}, {1, 0}, {2, 0}});
  CHECK(in_parts(extents, 0b101, 0, 0) == Pairs{{0, 1}, {0, 0}, {2, 0}, {1, 2}, {1, 1}, {1, 0}});
  CHECK(in_parts(extents, 0b001, 1, 2) == Pairs{{1, 2}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {2, 0}});
}

TEST_CASE("linear layout: every bit of every mode once, in its mode's order", "[tensor]") {
  for (auto const& [bits, sizes] : sizes_by_bits()) {
    LinearLayout const layout(to_extents(sizes));
    CAPTURE(bits);
    CHECK(layout.order() == int(sizes.size()));
    CHECK(layout.bits() == bits);
    CHECK(layout.words() == (bits + 63) / 64);
    std::vector<int> next(sizes.size(), 0);
    for (int b = 0; b < layout.bits(); ++b) {
      for (int n = 0; n < layout.order(); ++n) REQUIRE(layout.bits_below(n, b) == next[std::size_t(n)]);
      REQUIRE(layout.bit_at(b) == next[std::size_t(layout.mode_at(b))]++);
    }
    for (int n = 0; n < layout.order(); ++n) {
      CHECK(layout.bits_of(n) == next[std::size_t(n)]);
      CHECK(layout.bits_below(n, bits + 7) == layout.bits_of(n));
    }
  }
}

TEST_CASE("linear layout: encode and decode at every width", "[tensor]") {
  Random random(11);
  for (auto const& [bits, sizes] : sizes_by_bits()) {
    auto tensor = random_tensor(random, sizes, 40);
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      tensor.indices[n]                  = 0;  // the first cell and the last
      tensor.indices[tensor.order() + n] = sizes[n] - 1;
    }
    expect_round_trip<std::uint64_t>(tensor);
    if (*std::max_element(sizes.begin(), sizes.end()) < count_t(1) << 32)
      expect_round_trip<std::uint32_t>(tensor);
  }
}

TEST_CASE("linear order: every kind, orders 1 to 16", "[tensor]") {
  for (std::size_t order = 1; order <= 16; ++order)
    for (Kind const kind : all_kinds) expect_ordered<std::uint32_t, std::uint32_t>(small_tensor(kind, order));
}

TEST_CASE("linear order: every width, many nonzeros, both types of positions", "[tensor]") {
  Random random(12);
  for (auto const& [bits, sizes] : sizes_by_bits()) {
    auto tensor = random_tensor(random, sizes, 9000);
    // Cells that differ in the lowest or the uppermost bits only, and duplicates.
    for (std::size_t p = 1; p < tensor.nnz(); p += 3)
      for (std::size_t n = 0; n < tensor.order(); ++n)
        tensor.indices[p * tensor.order() + n] = tensor.index(p - 1, n) / 2 + (p % 2) * (sizes[n] / 2);
    expect_ordered<std::uint64_t, std::uint32_t>(tensor);
    expect_ordered<std::uint64_t, std::uint64_t>(tensor);
  }
}

TEST_CASE("linear order: what does not fit is refused before it is allocated", "[tensor]") {
  TestSpace const space;
  using Tensor = CooTensor<double, std::uint64_t, TestSpace>;
  // Views over memory that is never touched.
  auto* const nowhere = reinterpret_cast<double*>(std::uintptr_t(64));
  auto const refused  = [&](count_t nnz) {
    return Tensor(Extents{4, 4}, Tensor::indices_type(reinterpret_cast<std::uint64_t*>(nowhere), nnz, 2),
                  Tensor::values_type(nowhere, nnz));
  };
  CHECK_THROWS_AS(linear_order(space, refused(count_t(1) << 45)), MemoryError);
  CHECK_THROWS_AS(linear_order<std::uint32_t>(space, refused(count_t(1) << 45), LinearLayout(Extents{4, 4})),
                  UsageError);
}

}  // namespace
}  // namespace polyad::test
