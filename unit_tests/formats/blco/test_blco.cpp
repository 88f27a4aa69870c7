// SPDX-License-Identifier: BSD-3-Clause
// White box: what the format `blco` holds. Linear indices of every width that may come up, their blocks, the
// map from a nonzero to its block, the choice between one word and two, the bytes; what is refused.
#include "formats/blco/storage/blco.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/message_of.hpp"

namespace polyad::test {

/// The block and the indices of every nonzero, as the kernels find them.
template <class Scalar, class Index>
struct DecodeAll {
  BlcoNonzeros<Scalar, Index> nonzeros;
  Kokkos::View<std::uint64_t*, TestSpace::device_type> blocks;    // P
  Kokkos::View<std::uint64_t**, TestSpace::device_type> indices;  // P x N
  Kokkos::View<std::uint64_t*, TestSpace::device_type> differs;   // P: index() and for_each_index() disagree
  KOKKOS_FUNCTION void operator()(count_t p) const {
    blocks(p) = nonzeros.block_of(p);
    nonzeros.for_each_index(p, blocks(p), [&](int n, Index index) { indices(p, n) = index; });
    for (int n = 0; n < nonzeros.encoding.order(); ++n)
      if (nonzeros.index(p, blocks(p), n) != indices(p, n)) differs(p) = 1;
  }
};

namespace {

template <class Scalar, class Index>
using TestBlco = Blco<Scalar, Index, TestSpace>;

constexpr std::uint64_t two_to(int bits) {
  return std::uint64_t(1) << bits;
}

/// The interleaved number of a nonzero, uppermost bit first, made from the layout's table.
std::vector<int> interleaved(LinearLayout const& layout, HostTensor const& tensor, std::size_t p) {
  std::vector<int> bits;
  for (int b = layout.bits() - 1; b >= 0; --b)
    bits.push_back(static_cast<int>(
        tensor.index(p, static_cast<std::size_t>(layout.mode_at(b))) >> layout.bit_at(b) & 1U));
  return bits;
}

/// Checks everything that a built tensor holds against the tensor. `stripped` is how many bits the blocks
/// hold.
template <class Scalar, class Index>
void expect_built(HostTensor const& tensor, TestBlco<Scalar, Index> const& X, count_t max_block, int words,
                  int stripped) {
  CAPTURE(tensor.name, max_block, words, stripped, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  auto const& blocks      = X.blocks();
  std::size_t const P     = tensor.nnz();
  std::size_t const order = tensor.order();
  REQUIRE(X.nnz() == P);
  CHECK(blocks.encoding.words() == words);
  LinearLayout const layout{Extents(std::span<count_t const>(tensor.extents))};
  CHECK(layout.bits() - blocks.encoding.bits() == stripped);

  // ALTO's order; equal cells keep theirs.
  std::vector<std::vector<int>> numbers;
  for (std::size_t p = 0; p < P; ++p) numbers.push_back(interleaved(layout, tensor, p));
  std::vector<std::size_t> visit(P);
  std::iota(visit.begin(), visit.end(), std::size_t(0));
  std::stable_sort(visit.begin(), visit.end(),
                   [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });

  DecodeAll<Scalar, Index> const decode{blocks.nonzeros(),
                                        decltype(DecodeAll<Scalar, Index>::blocks)("blocks", P),
                                        decltype(DecodeAll<Scalar, Index>::indices)("indices", P, order),
                                        decltype(DecodeAll<Scalar, Index>::differs)("differs", P)};
  Kokkos::parallel_for("polyad::test",
                       Kokkos::RangePolicy<TestSpace, Kokkos::IndexType<count_t>>(space, 0, P), decode);
  space.fence("polyad::test");
  auto const host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  auto const indices = host(decode.indices);
  auto const found   = host(decode.blocks);
  auto const differs = host(decode.differs);
  auto const values  = host(blocks.values);
  auto const begins  = host(blocks.headers.begins);
  bool same          = true;
  for (std::size_t i = 0; i < P; ++i) {
    same = same && values(i) == static_cast<Scalar>(tensor.values[visit[i]]) && differs(i) == 0;
    for (std::size_t n = 0; n < order; ++n) same = same && indices(i, n) == tensor.index(visit[i], n);
  }
  CHECK(same);

  // Blocks: whole, not too long, one key each, as few as possible; and every nonzero finds its own.
  count_t const count = blocks.count();
  if (P == 0) {
    CHECK(count == 0);
    CHECK(X.storage_bytes() == 0);
    return;
  }
  REQUIRE(count >= 1);
  CHECK(begins(0) == 0);
  CHECK(begins(count) == P);
  auto const key = [&](std::size_t i) {
    auto const& number = numbers[visit[i]];
    return std::vector<int>(number.begin(), number.begin() + stripped);
  };
  bool right            = true;
  count_t expected      = 0;
  std::size_t key_begin = 0;
  for (std::size_t i = 0; i < P; ++i) {
    if (i > 0 && key(i) != key(i - 1)) key_begin = i;
    bool const starts = (i - key_begin) % max_block == 0;
    if (starts) ++expected;
    right = right && found(i) + 1 == expected && (!starts || begins(expected - 1) == i);
  }
  CHECK(right);
  CHECK(count == expected);

  std::size_t const w      = static_cast<std::size_t>(words);
  std::size_t const chunks = (P + 255) / 256 + 1;
  CHECK(X.storage_bytes() == P * (8 * w + sizeof(Scalar)) + count * (8 + order * sizeof(Index)) + 8 +
                                 8 * chunks + X.chunks().storage_bytes());
  CHECK(X.storage_bytes() == blocks.linear.size() * 8 + blocks.values.size() * sizeof(Scalar) +
                                 blocks.headers.begins.size() * 8 +
                                 blocks.headers.uppers.size() * sizeof(Index) +
                                 blocks.headers.block_map.size() * 8 + X.chunks().storage_bytes());
}

template <class Scalar, class Index>
TestBlco<Scalar, Index> build_blco(HostTensor const& tensor, BlcoOptions const& options,
                                   TestSpace const& space = TestSpace()) {
  return TestBlco<Scalar, Index>::build(space, to_device<Scalar, Index>(space, tensor), options);
}

BlcoOptions blocks_of(count_t max_block, int index_bits) {
  BlcoOptions options;
  options.max_block  = max_block;
  options.index_bits = index_bits;
  return options;
}

/// Random nonzeros in clusters: a few corners, and cells near them, so that blocks hold several nonzeros.
HostTensor clustered(std::vector<std::uint64_t> const& extents, std::size_t nnz, std::size_t clusters) {
  Random random(nnz + extents.size());
  HostTensor tensor{"clustered", extents, {}, {}};
  std::vector<std::uint64_t> corners;
  for (std::size_t c = 0; c < clusters; ++c)
    for (auto const extent : extents) corners.push_back(random_below(random, extent));
  for (std::size_t p = 0; p < nnz; ++p) {
    std::size_t const c = random_below(random, clusters);
    for (std::size_t n = 0; n < extents.size(); ++n) {
      auto const corner = corners[c * extents.size() + n];
      tensor.indices.push_back(std::min(extents[n] - 1, corner + random_below(random, 9)));
    }
    tensor.values.push_back(random_number(random));
  }
  for (std::size_t n = 0; n < extents.size(); ++n) tensor.indices[n] = extents[n] - 1;  // every bit set
  return tensor;
}

struct Width {
  int bits;
  std::vector<std::uint64_t> extents;
};

/// Every width at which something changes, up to what 128 bits cannot hold.
std::vector<Width> widths() {
  auto const most = two_to(32) - 1;  // rows that 32-bit coordinates reach
  return {{1, {2}},
          {31, {two_to(31)}},
          {63, {two_to(21), two_to(21), two_to(21)}},
          {64, {two_to(22), two_to(21), two_to(21)}},
          {65, {two_to(22), two_to(22), two_to(21)}},
          {78, {532924, 17262471, 2480308, 1443}},  // delicious
          {95, {most, two_to(31), most}},
          {128, {most, most, most, most}},
          {129, {most, most, most, most, 2}},
          {140, std::vector<std::uint64_t>(10, 10000)},
          {512, std::vector<std::uint64_t>(16, most)}};
}

TEST_CASE("blco: linear indices of every width, in one word and in two", "[formats]") {
  for (auto const& width : widths())
    for (std::size_t const clusters : {1, 40}) {
      auto const tensor = clustered(width.extents, 700, clusters);
      int const bits    = width.bits;
      CAPTURE(bits, clusters);
      REQUIRE(LinearLayout{Extents(std::span<count_t const>(width.extents))}.bits() == bits);
      count_t const longest = two_to(27);
      expect_built(tensor, build_blco<float, std::uint32_t>(tensor, blocks_of(longest, 64)), longest, 1,
                   std::max(0, bits - 64));
      expect_built(tensor, build_blco<double, std::uint64_t>(tensor, blocks_of(longest, 128)), longest,
                   bits > 64 ? 2 : 1, std::max(0, bits - 128));
      // Fewer bits than there are, so that blocks hold some of every width.
      for (int const kept : {1, 5, 17, 63, 65, 100, 127})
        if (kept < bits)
          expect_built(tensor, build_blco<double, std::uint32_t>(tensor, blocks_of(longest, kept)), longest,
                       kept > 64 ? 2 : 1, bits - kept);
    }
}

TEST_CASE("blco: modes of 64 bits", "[formats]") {
  // The largest extent that has 64 bits; its last index is 2^64 - 2.
  std::uint64_t const most = std::numeric_limits<std::uint64_t>::max();
  auto const tensor        = clustered({most, 2, most}, 300, 5);
  for (int const kept : {1, 64, 65, 128})
    expect_built(tensor, build_blco<float, std::uint64_t>(tensor, blocks_of(100, kept)), 100,
                 kept > 64 ? 2 : 1, 129 - kept);
}

TEST_CASE("blco: one word, unless the headers of its blocks would take more than a second one", "[formats]") {
  count_t const longest = two_to(27);
  BlcoOptions const options;
  REQUIRE(options.max_block == longest);
  std::vector<std::uint64_t> const extents(10, 10000);
  // Few keys: a word, and 76 bits in the headers.
  expect_built(clustered(extents, 700, 1),
               build_blco<float, std::uint32_t>(clustered(extents, 700, 1), options), longest, 1, 76);
  // A key for nearly every nonzero: two words, and 12 bits in the headers.
  Random random(1);
  auto const scattered = random_tensor(random, extents, 700);
  expect_built(scattered, build_blco<double, std::uint32_t>(scattered, options), longest, 2, 12);
  auto const forced = build_blco<double, std::uint32_t>(scattered, blocks_of(longest, 64));
  CHECK(forced.blocks().count() > 600);
  CHECK(forced.storage_bytes() > build_blco<double, std::uint32_t>(scattered, options).storage_bytes());
  // At most 64 bits are never stripped.
  auto const small = small_tensor(Kind::hypersparse, 4);
  expect_built(small, build_blco<float, std::uint64_t>(small, options), longest, 1, 0);
}

TEST_CASE("blco: blocks are split where they are too long", "[formats]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 5, 16}) {
      auto const tensor = small_tensor(kind, order);
      for (count_t const max_block : {1, 2, 7, 255, 256, 257, 1000}) {
        LinearLayout const layout{Extents(std::span<count_t const>(tensor.extents))};
        int const kept = std::min(layout.bits(), 3 + static_cast<int>(order));
        expect_built(tensor, build_blco<float, std::uint32_t>(tensor, blocks_of(max_block, 128)), max_block,
                     layout.bits() > 64 ? 2 : 1, std::max(0, layout.bits() - 128));
        if (kept > 0)
          expect_built(tensor, build_blco<double, std::uint64_t>(tensor, blocks_of(max_block, kept)),
                       max_block, 1, layout.bits() - kept);
      }
    }
}

TEST_CASE("blco: a mode of 2^31 rows of which three are used", "[formats]") {
  HostTensor tensor{"three rows", {two_to(31), 4, 1, 3}, {}, {}};
  for (std::uint64_t const row : {std::uint64_t(0), two_to(30) + 5, two_to(31) - 1})
    for (std::uint64_t i = 0; i < 12; ++i) {
      tensor.indices.insert(tensor.indices.end(), {row, i % 4, 0, i / 4});
      tensor.values.push_back(static_cast<double>(i) + 1);
    }
  expect_built(tensor, build_blco<double, std::uint32_t>(tensor, {}), two_to(27), 1, 0);
  expect_built(tensor, build_blco<double, std::uint32_t>(tensor, blocks_of(5, 10)), 5, 1, 25);
}

TEST_CASE("blco: built by any number of threads, on any instance, it holds the same", "[formats]") {
  Random random(5);
  auto const tensor = random_tensor(random, {3000, 400, 50}, 30000);
  for (auto const& space : instances_of<TestSpace>({1, 4, 7})) {
    auto const X = build_blco<float, std::uint32_t>(tensor, blocks_of(1000, 20), space);
    expect_built(tensor, X, 1000, 1, 7);
  }
}

TEST_CASE("blco: options that make no sense are refused", "[formats]") {
  auto const tensor  = small_tensor(Kind::shuffled, 3);
  auto const refused = [&](BlcoOptions const& options) {
    return message_of([&] { build_blco<float, std::uint32_t>(tensor, options); });
  };
  CHECK(refused(blocks_of(0, 0)) == "blocks of at most 0 nonzeros");
  CHECK(refused(blocks_of(1, 129)) == "a linear index of 129 bits; at most 128 can be had");
  CHECK(refused(blocks_of(1, -1)) == "a linear index of -1 bits; at most 128 can be had");
  BlcoOptions options;
  options.tile = -1;
  CHECK(refused(options) == "a tile of -1 nonzeros, a team of 0 threads (at most 256)");
  options.tile = 0;
  options.team = 257;
  CHECK(refused(options) == "a tile of 0 nonzeros, a team of 257 threads (at most 256)");
}

}  // namespace
}  // namespace polyad::test
