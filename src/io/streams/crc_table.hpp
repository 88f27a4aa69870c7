// SPDX-License-Identifier: BSD-3-Clause
// Checksums of 32 bits by tables, eight bytes per step, for any reflected polynomial.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace polyad::io {

using CrcTable = std::array<std::array<std::uint32_t, 256>, 8>;

/// table[k][b]: the checksum of byte b followed by k zero bytes.
consteval CrcTable make_crc_table(std::uint32_t polynomial) {
  CrcTable table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t value = b;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0U);
    table[0][b] = value;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xFF];
  return table;
}

/// The checksum of `bytes` after bytes whose checksum is `crc`; start with 0.
[[nodiscard]] inline std::uint32_t crc_by_table(CrcTable const& table, std::uint32_t crc,
                                                std::string_view bytes) {
  auto const byte = [&](std::size_t k) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[k]));
  };
  std::uint32_t value = ~crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    value ^= byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    value = table[7][value & 0xFF] ^ table[6][value >> 8 & 0xFF] ^ table[5][value >> 16 & 0xFF] ^
            table[4][value >> 24] ^ table[3][byte(4)] ^ table[2][byte(5)] ^ table[1][byte(6)] ^
            table[0][byte(7)];
  }
  for (std::size_t k = 0; k < bytes.size(); ++k) value = value >> 8 ^ table[0][(value ^ byte(k)) & 0xFF];
  return ~value;
}

}  // namespace polyad::io
