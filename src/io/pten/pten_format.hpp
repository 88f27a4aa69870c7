// SPDX-License-Identifier: BSD-3-Clause
// The layout of .pten, versions 1 and 2; docs/file-formats.md has it in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/streams/crc32c.hpp"

namespace polyad::io::pten {

using namespace std::string_view_literals;

/// Not ASCII, and with line ends of both kinds, so that a copy in text mode is detected at once.
inline constexpr auto magic = "\x89PTEN\r\n\x1A"sv;

/// Version 2 adds names and the index base. It is written only if there are any.
inline constexpr std::uint32_t version_without_names = 1, version_with_names = 2;

/// The index base of a file that does not specify it.
inline constexpr std::uint8_t unknown_base = 255;

enum class Packing : std::uint8_t { none = 0, zstd = 1 };

/// magic, u32 version, u32 bytes of the header, u8 bytes of an index, u8 bytes of a value, u8 packing, u8
/// order, u32 0, u64 nnz, u64 nonzeros per block, order x u64 extents, u32 0, u32 CRC-32C of all before. In
/// version 2 the first 0 is u8 index base and three bytes of 0, the extents are followed by u64 bytes of the
/// names, and the second 0 is u32 CRC-32C of the names. The names (io/names/names_block.hpp) come between
/// header and blocks.
struct Header {
  std::uint32_t version     = version_without_names;
  std::uint64_t index_bytes = 4, value_bytes = 8;
  Packing packing              = Packing::none;
  std::uint64_t nnz            = 0;
  std::uint64_t block_nonzeros = 0;
  std::vector<std::uint64_t> extents;
  int index_base            = -1;  // -1: not known
  std::uint64_t names_bytes = 0;
  std::uint32_t names_crc   = 0;

  [[nodiscard]] std::uint64_t nonzero_bytes() const noexcept {
    return extents.size() * index_bytes + value_bytes;
  }
  [[nodiscard]] std::uint64_t blocks() const noexcept {
    return nnz / block_nonzeros + (nnz % block_nonzeros != 0 ? 1 : 0);
  }
  /// Nonzeros of block b.
  [[nodiscard]] std::uint64_t nonzeros(std::uint64_t b) const noexcept {
    return b + 1 < blocks() ? block_nonzeros : nnz - b * block_nonzeros;
  }
};

/// The bytes of a header of N extents.
constexpr std::uint64_t header_bytes(std::uint64_t order, std::uint32_t version = version_without_names) {
  return (version == version_with_names ? 56 : 48) + 8 * order;
}

/// u64 bytes of the payload as stored, u32 its CRC-32C, u32 CRC-32C of the block's number (u64) and the 12
/// bytes before
inline constexpr std::uint64_t block_head_bytes = 16;

inline void append(std::string& bytes, std::uint64_t value, int count) {
  for (; count > 0; --count, value >>= 8) bytes += static_cast<char>(value & 0xFF);
}

/// The checksum of a block's head.
inline std::uint32_t head_crc(std::uint64_t block, std::string_view first_twelve) {
  std::string number;
  append(number, block, 8);
  return crc32c(crc32c(0, number), first_twelve);
}

}  // namespace polyad::io::pten
