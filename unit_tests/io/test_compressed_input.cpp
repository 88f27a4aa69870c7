// SPDX-License-Identifier: BSD-3-Clause
// Packed coordinate text: recognised by content, whole or damaged in any way. The samples were packed by the
// usual tools from the text `plain`.
#include <cstdint>
#include <string>
#include <string_view>

#include "io/text/text_blocks.hpp"
#include "io/text/tns_reader.hpp"
#include "polyad/core/error.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace std::string_view_literals;
using polyad::io::Compression;
using polyad::io::ReadOptions;
using polyad::test::TemporaryFolder;

constexpr std::string_view plain = "# two nonzeros\n1 1 1 1.5\n2 3 4 -2\n";

struct Sample {
  Compression compression;
  std::string_view name;
  std::string_view packed;
};

constexpr Sample samples[] = {
    {Compression::xz, "xz",
     "\xFD\x37\x7A\x58\x5A\x00\x00\x04\xE6\xD6\xB4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2F\xE5\xA3"
     "\x01\x00\x21\x23\x20\x74\x77\x6F\x20\x6E\x6F\x6E\x7A\x65\x72\x6F\x73\x0A\x31\x20\x31\x20\x31\x20"
     "\x31\x2E\x35\x0A\x32\x20\x33\x20\x34\x20\x2D\x32\x0A\x00\x00\x00\xC0\xB1\xE3\x1B\xA2\x06\x94\x37"
     "\x00\x01\x3A\x22\xB6\x2A\x4F\xD0\x1F\xB6\xF3\x7D\x01\x00\x00\x00\x00\x04\x59\x5A"sv},
    {Compression::gzip, "gzip",
     "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\x53\x56\x28\x29\xCF\x57\xC8\xCB\xCF\xAB\x4A\x2D\xCA\x2F"
     "\xE6\x32\x54\x00\x43\x3D\x53\x2E\x23\x05\x63\x05\x13\x05\x5D\x23\x2E\x00\x9A\x26\x5C\xF7\x22\x00"
     "\x00\x00"sv},
    {Compression::zstd, "zstd",
     "\x28\xB5\x2F\xFD\x04\x68\x11\x01\x00\x23\x20\x74\x77\x6F\x20\x6E\x6F\x6E\x7A\x65\x72\x6F\x73\x0A"
     "\x31\x20\x31\x20\x31\x20\x31\x2E\x35\x0A\x32\x20\x33\x20\x34\x20\x2D\x32\x0A\xA3\xAD\x16\xEF"sv},
};

/// The words of the error after the file's name; empty if all went well, in every chunk size.
std::string outcome(std::string_view content, std::size_t nonzeros, Compression compression) {
  TemporaryFolder const folder;
  auto const path = folder.write("t", content);
  std::string first;
  for (std::size_t const chunk : {1U, 2U, 3U, 16U, 4096U})
    for (int const threads : {1, 7}) {
      ReadOptions options;
      options.chunk_bytes = chunk;
      options.threads     = threads;
      std::string error;
      try {
        auto const file = polyad::io::read_tns(path, options);
        REQUIRE(file.report.compression == compression);
        REQUIRE(file.tensor.nnz() == nonzeros);
        REQUIRE(file.tensor.values.back() == -2);
        REQUIRE(file.report.text_bytes == plain.size() * nonzeros / 2);
        REQUIRE(file.report.file_bytes == content.size());
      } catch (polyad::InputError const& failure) {
        error = std::string(failure.what()).substr(path.string().size());
      }
      if (chunk == 1 && threads == 1) first = error;
      REQUIRE(error == first);
    }
  return first;
}

}  // namespace

TEST_CASE("packed text is recognised by its content", "[io]") {
  REQUIRE(outcome(plain, 2, Compression::none) == "");
  for (Sample const& sample : samples) {
    INFO(sample.name);
    if (!polyad::io::can_unpack(sample.compression)) {
      REQUIRE(outcome(sample.packed, 2, sample.compression) ==
              ": is packed with " + std::string(sample.name) +
                  ", which this build of Polyad cannot unpack (its library was missing)");
      continue;
    }
    REQUIRE(outcome(sample.packed, 2, sample.compression) == "");
    // Several streams one after the other are one text.
    std::string const twice = std::string(sample.packed) + std::string(sample.packed);
    REQUIRE(outcome(twice, 4, sample.compression) == "");
  }
}

TEST_CASE("packed text that is cut short anywhere is refused", "[io]") {
  for (Sample const& sample : samples) {
    if (!polyad::io::can_unpack(sample.compression)) continue;
    for (std::size_t size = 6; size < sample.packed.size(); ++size) {
      INFO(sample.name << ", " << size << " bytes");
      REQUIRE(outcome(sample.packed.substr(0, size), 2, sample.compression) ==
              ": the " + std::string(sample.name) + " data end too early; is the file cut short?");
    }
    // Likewise after a whole stream.
    std::string const second(sample.packed.substr(0, sample.packed.size() - 5));
    REQUIRE(outcome(std::string(sample.packed) + second, 4, sample.compression) ==
            ": the " + std::string(sample.name) + " data end too early; is the file cut short?");
  }
}

TEST_CASE("packed text followed by something else is refused", "[io]") {
  for (Sample const& sample : samples) {
    if (!polyad::io::can_unpack(sample.compression)) continue;
    INFO(sample.name);
    REQUIRE(outcome(std::string(sample.packed) + "1 1 1 1\n1 1 1 1\n\n", 2, sample.compression) ==
            ": the " + std::string(sample.name) + " data are followed by other bytes");
  }
}

TEST_CASE("packed text with any one byte changed is refused or gives the same numbers", "[io]") {
  for (Sample const& sample : samples) {
    if (!polyad::io::can_unpack(sample.compression)) continue;
    for (std::size_t k = 0; k < sample.packed.size(); ++k) {
      INFO(sample.name << ", byte " << k);
      std::string damaged(sample.packed);
      damaged[k] = static_cast<char>(damaged[k] ^ 0x15);
      TemporaryFolder const folder;
      auto const path = folder.write("t", damaged);
      try {
        auto const file = polyad::io::read_tns(path);
        REQUIRE(file.tensor.values.size() == 2);
        REQUIRE(file.tensor.values[0] == 1.5);
        REQUIRE(file.tensor.values[1] == -2);
      } catch (polyad::InputError const&) {
        SUCCEED();
      }
    }
  }
}

TEST_CASE("damage of packed data is reported before faults of the text", "[io]") {
  // The text's first line would be at fault, too.
  Sample const& gzip = samples[1];
  if (!polyad::io::can_unpack(gzip.compression)) POLYAD_SKIP("built without the library that unpacks this");
  std::string damaged(gzip.packed);
  damaged[damaged.size() - 6] ^= 1;  // the checksum
  ReadOptions options;
  options.index_base = 0;
  TemporaryFolder const folder;
  auto const path = folder.write("t", damaged);
  try {
    (void)polyad::io::read_tns(path, options);
    FAIL("no error");
  } catch (polyad::InputError const& error) {
    REQUIRE(std::string(error.what()).substr(path.string().size()) ==
            ": the gzip data are corrupt (incorrect data check)");
  }
}

TEST_CASE("a fault after the last byte of gzip data is the same in every chunk size", "[io]") {
  // All bytes are taken before the text that they give is: found by fuzzing.
  if (!polyad::io::can_unpack(Compression::gzip)) POLYAD_SKIP("built without the library that unpacks this");
  REQUIRE(outcome("\x1F\x8B\x08\x00\xFD\x33\xFD\x37\x7A\x58\x5A\x25\x00\x32\x31"sv, 0, Compression::gzip) ==
          ": the gzip data are corrupt (invalid distance too far back)");
}

TEST_CASE("a fault of zstd data is the same in every chunk size", "[io]") {
  // Also found by fuzzing: zstd's own words for it were not.
  if (!polyad::io::can_unpack(Compression::zstd)) POLYAD_SKIP("built without the library that unpacks this");
  REQUIRE(
      outcome("\x28\xB5\x2F\xFD\x74\x65\x6E\x73\x6F\x72\x0A\x0A\x0A\x0A\x0A\x0A\x0A\x0A\x0A\x31\x0A\x0A\x0A"
              "\x0A\xFB"
              "\x0A\x0A\x0A\x0A\x0A\x0A\x1A\x20\x31\x20\x31\x20\x20\x34\x31\x20\xFF\xFF\xFF\xFF\x0A\x32\x30"
              "\x31\x20\xFF\xFF\xFF\xFF\x0A\x32\x30\x7D\x66"sv,
              0, Compression::zstd) == ": the zstd data are corrupt (bad data)");
  // With room for the whole frame, zstd took another way through it and named another fault.
  REQUIRE(
      outcome(
          "\x28\xB5\x2F\xFD\x30\x20\x01\x00\x00\x68\x09\x02\x00\x00\x00\x00\x00\x20\x32\x20\x2D\x34\x20\x32"
          "\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x32\x31\x20\x6E"
          "\xA3\x20\x30\xFE\xFF\xFF\xFD\x3D\x20\x02\x00\x00\x00\x00\x00\x20\x30\x32\x20\x01\x00\x00\x09\x68"
          "\x02\x00\x00\x34\x20\x30\x20\x6E\x73\xC4"sv,
          0, Compression::zstd) == ": the zstd data are corrupt (bad data)");
}

TEST_CASE("nothing is read past damage of packed data", "[io]") {
  // Found by fuzzing: zstd continued, and a second thread found that other bytes follow.
  if (!polyad::io::can_unpack(Compression::zstd)) POLYAD_SKIP("built without the library that unpacks this");
  auto const packed =
      std::string("\x28\xB5\x2F\xFD\x00\x36\x0A"sv) + std::string(33, '\x02') + "\x30\x02\x02\x02";
  TemporaryFolder const folder;
  polyad::io::RawInput input(folder.write("t", packed));
  polyad::io::ReadMemory memory(std::uint64_t{1} << 28);
  polyad::io::TextBlocks blocks(input, Compression::zstd, 64, memory);
  REQUIRE_THROWS_AS(blocks.next(), polyad::InputError);
  REQUIRE_FALSE(blocks.next());
}

TEST_CASE("a packed line is too long in every chunk size", "[io]") {
  if (!polyad::io::can_unpack(Compression::zstd)) POLYAD_SKIP("built without the library that unpacks this");
  // A frame with a window of 128 KiB, and 22 MiB of the digit 0 as blocks of 128 KiB of one byte.
  auto packed = std::string("\x28\xB5\x2F\xFD\x00\x38"sv);
  for (int block = 1; block < 176; ++block) packed += "\x02\x00\x10\x30"sv;
  packed += "\x03\x00\x10\x30"sv;
  TemporaryFolder const folder;
  auto const path = folder.write("t", packed);
  for (std::size_t const chunk : {1U, 3U, 5U, 33U, 1U << 20}) {
    ReadOptions options;
    options.chunk_bytes = chunk;
    try {
      (void)polyad::io::read_tns(path, options);
      FAIL("no error");
    } catch (polyad::InputError const& error) {
      REQUIRE(std::string(error.what()).substr(path.string().size()) ==
              ": has a line of more than 16777216 bytes; is it a text file?");
    }
  }
}

TEST_CASE("other packings are named", "[io]") {
  REQUIRE(outcome("BZh91AY&SY", 0, Compression::none) == ": bzip2 is not supported; use xz");
  REQUIRE(outcome("PK\x03\x04____", 0, Compression::none) == ": is a zip archive, not coordinate text");
}
