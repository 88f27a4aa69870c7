// SPDX-License-Identifier: BSD-3-Clause
// White box: the MTTKRP of the format `blco`. Every resolution of conflicts forced on every mode, over blocks
// of one nonzero and of many, one word and two, tiles of any length and several threads. What the paper's
// heuristic chooses. Rows that nothing adds to. Workspaces.
#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/blco/storage/blco.hpp"
#include "formats/expect_exact.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/testing/conformance.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
using TestBlco = Blco<Scalar, Index, TestSpace>;

constexpr std::array resolutions{Resolution::automatic, Resolution::registers, Resolution::hierarchical,
                                 Resolution::privatised};

/// Builds and compares, with what an earlier mode may have left in the workspace.
template <class Scalar, class Index>
void expect_blco(HostTensor const& tensor, std::size_t rank, BlcoOptions const& options,
                 RowLayout layout = RowLayout::padded, TestSpace const& space = TestSpace()) {
  auto const X   = TestBlco<Scalar, Index>::build(space, to_device<Scalar, Index>(space, tensor), options);
  auto workspace = X.make_workspace(space, rank);
  Kokkos::deep_copy(space, workspace.copies, Scalar(-5));
  CAPTURE(static_cast<int>(options.resolution), options.max_block, options.index_bits, options.tile);
  expect_exact(space, X, workspace, tensor, rank, layout);
}

BlcoOptions with(Resolution resolution, count_t max_block, int index_bits, int tile = 0) {
  BlcoOptions options;
  options.resolution = resolution;
  options.max_block  = max_block;
  options.index_bits = index_bits;
  options.tile       = tile;
  return options;
}

TEST_CASE("blco: every resolution on every mode, over blocks of every kind", "[formats]") {
  std::size_t number = 0;
  for (std::size_t const order : {1, 2, 3, 4, 5, 10, 16})
    for (Kind const kind : {Kind::empty, Kind::one_nonzero, Kind::one_long_slice, Kind::duplicates,
                            Kind::mode_of_size_1, Kind::shuffled, Kind::runs_at_borders, Kind::hypersparse}) {
      auto const tensor = small_tensor(kind, order, random_integer);
      for (Resolution const resolution : resolutions) {
        // Blocks of one nonzero; of up to seven, and by their keys; by keys of more than a word; one block.
        struct Cut {
          count_t max_block;
          int index_bits;
        };
        for (Cut const cut : {Cut{1, 0}, Cut{7, 6}, Cut{1000, 9}, Cut{300, 100}, Cut{100000, 0}}) {
          auto const options = with(resolution, cut.max_block, cut.index_bits);
          ++number;
          if (number % 2 == 0)
            expect_blco<float, std::uint32_t>(tensor, some_rank(number), options, some_layout(number));
          else
            expect_blco<double, std::uint32_t>(tensor, some_rank(number), options, some_layout(number));
          if (number % 5 == 0)
            expect_blco<float, std::uint64_t>(tensor, some_rank(number), options, some_layout(number));
        }
      }
    }
}

TEST_CASE("blco: tiles of any length, and teams of any size", "[formats]") {
  for (Kind const kind : {Kind::runs_at_borders, Kind::shuffled, Kind::one_long_slice}) {
    auto const tensor = small_tensor(kind, 3, random_integer);
    for (Resolution const resolution : {Resolution::registers, Resolution::hierarchical})
      for (int const tile : {1, 8, 24, 100, 500, 5000, 1000000})
        for (int const team : {1, 32, 64, 100, 256}) {
          auto options = with(resolution, 90, 7, tile);
          options.team = team;
          expect_blco<float, std::uint32_t>(tensor, 33, options);
          expect_blco<double, std::uint32_t>(tensor, 16, options);
        }
  }
}

TEST_CASE("blco: many tiles and chunks, on any number of threads", "[formats]") {
  Random random(3);
  // A mode of three rows; rows that share the lowest bits of their index; rows that nothing adds to.
  auto tensor = random_tensor(random, {3, 1u << 18, 777}, 40000, random_integer);
  for (std::size_t p = 0; p < tensor.nnz(); ++p) tensor.indices[3 * p + 1] &= ~std::uint64_t(0x3fff);
  for (auto const& space : instances_of<TestSpace>({1, 4, 7}))
    for (Resolution const resolution : resolutions) {
      expect_blco<double, std::uint32_t>(tensor, 4, with(resolution, 1000, 25), RowLayout::padded, space);
      expect_blco<double, std::uint32_t>(tensor, 3, with(resolution, 1u << 27, 0),
                                         kernel_layout<TestSpace>(3), space);
    }
}

TEST_CASE("blco: a tensor wider than 128 bits", "[formats]") {
  Random random(7);
  auto const tensor = random_tensor(random, std::vector<std::uint64_t>(10, 10000), 500, random_integer);
  for (Resolution const resolution : {Resolution::automatic, Resolution::registers, Resolution::privatised})
    for (int const index_bits : {0, 64, 128})
      expect_blco<double, std::uint32_t>(tensor, 2, with(resolution, 1u << 27, index_bits));
}

TEST_CASE("blco: doubles, which lanes of a device exchange, and floats", "[formats]") {
  for (std::size_t const rank : {4, 8, 16, 31, 32, 64, 100}) {
    auto const options = with(Resolution::registers, 1000, 0);
    expect_blco<double, std::uint32_t>(small_tensor(Kind::runs_at_borders, 3, random_integer), rank, options);
    expect_blco<float, std::uint32_t>(small_tensor(Kind::runs_at_borders, 4, random_integer), rank, options);
  }
}

// ---- which resolution

TEST_CASE("blco: the resolution of a mode", "[formats]") {
  TestSpace const space;
  Random random(11);
  auto const tensor = random_tensor(random, {3, 100000, 200, 100000}, 5000, random_integer);
  auto const coo    = to_device<float, std::uint32_t>(space, tensor);
  auto const build  = [&](Resolution resolution) {
    return TestBlco<float, std::uint32_t>::build(space, coo, with(resolution, 1000, 0));
  };
  auto const automatic = build(Resolution::automatic);
  if (is_device_space<TestSpace>) {
    // The paper's heuristic: shorter than the number of multiprocessors.
    CHECK(automatic.resolve(space, 0).kind == Resolution::hierarchical);
    CHECK(automatic.resolve(space, 1).kind == Resolution::registers);
    CHECK(automatic.chunks().count() == 0);
  } else {
    // Copies of the rows that chunks share, unless there are more of them than 2^16.
    auto const threads = static_cast<count_t>(space.concurrency());
    auto const& chunks = automatic.chunks();
    REQUIRE(chunks.count() == threads);
    CHECK(automatic.resolve(space, 0).kind == Resolution::privatised);
    CHECK(automatic.resolve(space, 0).copied_rows == 3 * (threads - 1));
    CHECK(automatic.resolve(space, 0).copies == 0);
    int in_registers = 0;
    for (int const mode : {1, 3}) {
      bool const is_long = chunks.copied_rows(mode) > (count_t(1) << 16);
      CHECK(automatic.resolve(space, mode).kind ==
            (is_long ? Resolution::registers : Resolution::privatised));
      CHECK(automatic.resolve(space, mode).copied_rows == (is_long ? 0 : chunks.copied_rows(mode)));
      in_registers += is_long ? 1 : 0;
    }
    CHECK((in_registers > 0) == (threads > 1));
  }
  auto const hierarchical = build(Resolution::hierarchical);
  CHECK(hierarchical.resolve(space, 0).kind == Resolution::hierarchical);
  CHECK(hierarchical.resolve(space, 0).copied_rows == 8 * 3);
  // No stash holds 100,000 rows.
  CHECK(hierarchical.resolve(space, 1).kind == Resolution::registers);
  CHECK(hierarchical.resolve(space, 1).copied_rows == 0);
  CHECK(hierarchical.make_workspace(space, 5).copies.extent(0) ==
        (hierarchical.resolve(space, 2).kind == Resolution::hierarchical ? 8 * 200 : 8 * 3));
  auto const registers = build(Resolution::registers);
  for (int mode = 0; mode < 4; ++mode) CHECK(registers.resolve(space, mode).kind == Resolution::registers);
  CHECK(registers.make_workspace(space, 5).copies.extent(0) == 0);
  auto const privatised = build(Resolution::privatised);
  for (int mode = 0; mode < 4; ++mode) CHECK(privatised.resolve(space, mode).kind == Resolution::privatised);
}

TEST_CASE("blco: an option forces either resolution", "[formats]") {
  TestSpace const space;
  std::size_t number = 0;
  for (std::string const name : {"registers", "hierarchical", "privatised"}) {
    BlcoOptions options;
    OptionText text("resolution=" + name);
    options.read(text);
    text.expect_all_read("blco");
    CAPTURE(name);
    for (Kind const kind : all_kinds)
      for (std::size_t const order : {2, 3, 5}) {
        auto const tensor = small_tensor(kind, order, random_integer);
        ++number;
        expect_blco<float, std::uint32_t>(tensor, some_rank(number), options, some_layout(number));
        expect_blco<double, std::uint64_t>(tensor, some_rank(number + 1), options, some_layout(number));
      }
    auto const tensor = small_tensor(Kind::shuffled, 3);
    auto const coo    = to_device<double, std::uint32_t>(space, tensor);
    auto const X      = TestBlco<double, std::uint32_t>::build(space, coo, options);
    for (int mode = 0; mode < 3; ++mode)  // short enough for a stash
      CHECK(X.resolve(space, mode).kind == (name == "registers"      ? Resolution::registers
                                            : name == "hierarchical" ? Resolution::hierarchical
                                                                     : Resolution::privatised));
    // By its text, and in a stream.
    Random random(3);
    auto const host_factors = random_factors(random, tensor.extents, 5);
    auto const factors      = to_device<double>(space, host_factors);
    for (std::string const format : {"blco", "streamed-blco"}) {
      auto const any = any_format(
          space, coo, {.rank = 5, .format = format + ":resolution=" + name, .duplicates = Duplicates::keep});
      auto workspace = any.make_workspace(space, 5);
      for (int mode = 0; mode < 3; ++mode) {
        auto const expected = oracle_mttkrp(tensor, host_factors, static_cast<std::size_t>(mode));
        WatchedMatrix<double> const V(space, RowLayout::padded, expected.rows, expected.columns);
        mttkrp(space, any, factors, mode, workspace, V.matrix());
        space.fence("polyad::test");
        CHECK(violation<double>(expected, V.read(), factors.order()) == "");
        CHECK(V.trespasses() == 0);
      }
    }
  }
  BlcoOptions options;
  OptionText text("resolution=stash");
  CHECK_THROWS_AS(options.read(text), UsageError);
}

TEST_CASE("blco: a host's chunk has copies of all rows that an earlier chunk touches",
          POLYAD_HOST_ONLY "[formats]") {
  Random random(13);
  auto const tensor = random_tensor(random, {40, 1000, 200}, 5000);
  for (auto const& space : instances_of<TestSpace>({1, 4, 7})) {
    auto const X = TestBlco<double, std::uint32_t>::build(
        space, to_device<double, std::uint32_t>(space, tensor), with(Resolution::privatised, 1u << 27, 0));
    auto const& chunks  = X.chunks();
    auto const nonzeros = X.blocks().nonzeros();
    REQUIRE(chunks.count() >= 1);
    auto const begin = [&](count_t chunk) { return chunk_begin(X.nnz(), chunks.count(), chunk); };
    CHECK(begin(0) == 0);
    CHECK(begin(chunks.count()) == X.nnz());
    for (int mode = 0; mode < 3; ++mode) {
      std::vector<bool> written(1000);  // by earlier chunks
      bool right   = true;
      count_t slot = 0;
      for (count_t chunk = 0; chunk < chunks.count(); ++chunk) {
        PrivateRows const own = chunks.private_rows().of(mode)[chunk];
        right                 = right && own.slot == slot && begin(chunk) < begin(chunk + 1);
        slot += own.count;
        std::vector<count_t> rows;
        for (count_t p = begin(chunk); p < begin(chunk + 1); ++p)
          rows.push_back(nonzeros.index(p, nonzeros.block_of(p), mode));
        for (count_t const k : rows)
          if (written[k]) right = right && k >= own.first && k < own.first + own.count;
        for (count_t const k : rows) written[k] = true;
      }
      CHECK(right);
      CHECK(chunks.copied_rows(mode) == slot);
    }
  }
}

TEST_CASE("blco: a workspace of a smaller rank, or of another tensor, is refused", "[formats]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const X      = TestBlco<double, std::uint32_t>::build(
      space, to_device<double, std::uint32_t>(space, tensor), with(Resolution::hierarchical, 1000, 0));
  REQUIRE(X.resolve(space, 0).kind == Resolution::hierarchical);
  Random random(1);
  auto const factors = to_device<double>(space, random_factors(random, tensor.extents, 9));
  WatchedMatrix<double> const V(space, RowLayout::padded, tensor.extents[0], 9);
  auto small = X.make_workspace(space, 4);
  CHECK_THROWS_AS(mttkrp(space, X, factors, 0, small, V.matrix()), UsageError);
  BlcoWorkspace<double, TestSpace> none;
  CHECK_THROWS_AS(mttkrp(space, X, factors, 0, none, V.matrix()), UsageError);
}

TEST_CASE("blco: copies that do not fit are refused before anything is allocated", "[formats]") {
  TestSpace const space;
  HostTensor const tensor{"long", {2, std::uint64_t(1) << 45}, {1, 7, 0, 3, 0, 9}, {1.0, 2.0, 3.0}};
  auto const X = TestBlco<double, std::uint64_t>::build(
      space, to_device<double, std::uint64_t>(space, tensor), with(Resolution::privatised, 1000, 0));
  if (is_device_space<TestSpace>) CHECK_THROWS_AS(X.make_workspace(space, 16), MemoryError);
  CHECK(X.storage_bytes() == 3 * (8 + 8) + (8 + 2 * 8) + 8 + 8 * 2);
}

}  // namespace
}  // namespace polyad::test
