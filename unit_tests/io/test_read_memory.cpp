// SPDX-License-Identifier: BSD-3-Clause
// ReadOptions::memory_bytes: every reader keeps to it. What is over it is refused with what it was for, and
// what fits reads as without a limit. (unit_tests/cli/test_memory.py measures what the process takes.)
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/memory/read_memory.hpp"
#include "io/read_in_parts.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::MemoryError;
using polyad::io::CoordinateList;
using polyad::io::Dialect;
using polyad::io::HeldMemory;
using polyad::io::ReadMemory;
using polyad::test::TemporaryFolder;

constexpr std::uint64_t nonzeros = 200000;

CoordinateList sample() {
  CoordinateList list;
  list.extents  = {1000, 77, 300};
  auto& indices = list.indices.emplace<0>();
  for (std::uint64_t p = 0; p < nonzeros; ++p) {
    for (std::uint64_t n = 0; n < 3; ++n)
      indices.push_back(
          static_cast<std::uint32_t>(p == 0 ? list.extents[n] - 1 : (p * 7919 + n * 31) % list.extents[n]));
    list.values.push_back(static_cast<double>(p % 9) + 0.5);
  }
  return list;
}

template <class Number>
void put(std::string& bytes, Number number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof raw);
}

/// SPLATT's binary, which nothing here writes.
std::string splatt(CoordinateList const& list) {
  std::string bytes;
  put(bytes, std::uint32_t{0});
  for (std::uint64_t const number : {8, 8, 3}) put(bytes, number);
  for (auto const extent : list.extents) put(bytes, extent);
  put(bytes, list.nnz());
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t p = 0; p < list.nnz(); ++p)
      put(bytes, std::uint64_t{std::get<0>(list.indices)[p * 3 + n]});
  for (double const value : list.values) put(bytes, value);
  return bytes;
}

/// A file of each kind, and what it holds.
struct File {
  std::filesystem::path path;
  CoordinateList tensor;
};

std::vector<File> files_in(TemporaryFolder const& folder) {
  auto const list = sample();
  std::vector<File> files;
  for (char const* name : {"t.tns", "t.pten", "t.npz", "packed.pten"}) {
    bool const packs = std::string_view(name).starts_with("packed");
    if (packs && !polyad::io::can_unpack(polyad::io::Compression::zstd)) continue;
    polyad::io::write_tensor(folder / name, list, {.packed = packs});
    files.push_back({folder / name, list});
  }
  files.push_back({folder.write("splatt", splatt(list)), list});
  std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n3000 3000 30000\n";
  for (int p = 0; p < 30000; ++p)
    symmetric += std::to_string(2000 + p / 1999) + " " + std::to_string(1 + p % 1999) + " 0.5\n";
  auto const path = folder.write("symmetric.mtx", symmetric);
  files.push_back({path, polyad::io::read_tensor(path).tensor});
  return files;
}

bool same(CoordinateList const& a, CoordinateList const& b) {
  return a.extents == b.extents && a.indices == b.indices && a.values == b.values;
}

}  // namespace

TEST_CASE("reading keeps to its memory: refused below, the same tensor above", "[io]") {
  TemporaryFolder const folder;
  for (auto const& [path, tensor] : files_in(folder))
    for (int const threads : {1, 3}) {
      CAPTURE(path, threads);
      std::uint64_t refused = 0, read = 0;
      for (std::uint64_t limit = 1000; limit < 100'000'000; limit += limit / 3) try {
          auto const file =
              polyad::io::read_tensor(path, {.threads = threads, .memory_bytes = std::optional(limit)});
          REQUIRE(same(file.tensor, tensor));
          if (read == 0) read = limit;
        } catch (MemoryError const& error) {
          CAPTURE(error.what());
          REQUIRE(!error.array().empty());
          REQUIRE(error.bytes() > 0);
          REQUIRE(std::string(error.what()).find(std::to_string(error.bytes())) != std::string::npos);
          refused = limit;
        }
      // The file and the list are there together.
      REQUIRE(refused > tensor.bytes());
      REQUIRE(read > 0);
      // Threads have more text in work: how much, is chance.
      if (threads == 1) REQUIRE(refused < read);
      REQUIRE(read < 4 * (tensor.bytes() + std::filesystem::file_size(path)));
    }
}

TEST_CASE("a part of a file is read where the whole does not fit", "[io]") {
  TemporaryFolder const folder;
  auto const list = sample();
  for (char const* name : {"t.tns", "t.pten"}) {
    polyad::io::write_tensor(folder / name, list);
    auto const whole = list.bytes() + std::filesystem::file_size(folder / name);
    polyad::io::ReadOptions options;
    options.threads      = 1;
    options.memory_bytes = whole * 2 / 3;
    CAPTURE(name);
    REQUIRE_THROWS_AS(polyad::io::read_tensor(folder / name, options), MemoryError);
    REQUIRE(same(polyad::test::read_in_parts(folder / name, options, 3).tensor, list));
    // Whichever part has no memory, all parts say so.
    options.memory_bytes = whole / 4;
    REQUIRE_THROWS_AS(polyad::test::read_in_parts(folder / name, options, 3), MemoryError);
  }
}

TEST_CASE("an account of memory: a limit, what is held, what is given back", "[io]") {
  ReadMemory memory(1000);
  memory.count("an array", 600);
  {
    HeldMemory held;
    held.resize(memory, "a buffer", 300);
    held.resize(memory, "a buffer", 400);
    REQUIRE_THROWS_AS(held.resize(memory, "a buffer", 401), MemoryError);
    HeldMemory moved = std::move(held);
    REQUIRE_THROWS_AS(memory.count("one byte", 1), MemoryError);
    moved.resize(memory, "a buffer", 100);
    memory.count("an array", 300);
    try {
      memory.take("coordinates", 2);
      REQUIRE(false);
    } catch (MemoryError const& error) {
      REQUIRE(error.array() == "coordinates");
      REQUIRE(error.bytes() == 2);
      REQUIRE(std::string(error.what()) ==
              "coordinates needs 2 bytes: of the 1000 bytes that reading may take, 0 are left");
    }
  }
  REQUIRE(memory.left() == 100);
  memory.give(900);
  REQUIRE(memory.left() == 1000);

  ReadMemory unlimited;
  unlimited.count("much", ~std::uint64_t{0} - 5);
  REQUIRE_THROWS_AS(unlimited.count("more", 6), MemoryError);  // no sum wraps around
  REQUIRE(unlimited.left() > 0);
  REQUIRE_THROWS_AS(ReadMemory().take("all addresses", std::uint64_t{1} << 60), MemoryError);
}

TEST_CASE("blocks of text are small where memory is", "[io]") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  REQUIRE(ReadMemory().chunk_bytes(mib, 64) == mib);
  REQUIRE(ReadMemory(64 * mib).chunk_bytes(mib, 1) == mib);
  REQUIRE(ReadMemory(64 * mib).chunk_bytes(mib, 8) == mib / 2);
  REQUIRE(ReadMemory(1).chunk_bytes(mib, 8) == 4096);
  REQUIRE(ReadMemory(1).chunk_bytes(7, 8) == 7);
}

TEST_CASE("lines without nonzeros take no memory, however many there are", "[io]") {
  TemporaryFolder const folder;
  std::string text = "1 2 3 4\n";
  text.append(2'000'000, '\n');
  for (int k = 0; k < 500'000; ++k) text += "#\n";
  text += "2 2 2 5\n";
  auto const path = folder.write("t", text);
  for (int const threads : {1, 3}) {
    auto const file = polyad::io::read_tensor(
        path, {.threads = threads, .memory_bytes = std::optional<std::uint64_t>(text.size() + 4'000'000)});
    REQUIRE(file.tensor.nnz() == 2);
    REQUIRE(file.tensor.values[1] == 5);
    REQUIRE(file.report.lines == 2'500'002);
  }
}
