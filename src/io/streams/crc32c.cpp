// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/crc32c.hpp"

#include <cstring>

#include "io/streams/crc_table.hpp"

namespace polyad::io {

namespace {

constexpr CrcTable crc32c_table = make_crc_table(0x82F63B78U);

#if defined(__x86_64__) && defined(__GNUC__)
#define POLYAD_CRC32C_INSTRUCTION

// The instruction accepts a word each cycle but has a latency of three cycles. So three stretches are
// computed at the same time. Their checksums are joined by the effect of `length` zero bytes on a checksum, a
// linear map of 32 bits, with tables.
constexpr std::size_t stretch = 4096;

/// shift[k][b]: the checksum register b << 8k after `stretch` zero bytes.
consteval std::array<std::array<std::uint32_t, 256>, 4> make_shift_table() {
  // The map of one zero byte, squared until it is the map of `stretch` = 2^12 of them.
  std::array<std::uint32_t, 32> columns{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t const value = std::uint32_t{1} << bit;
    columns[bit]              = value >> 8 ^ crc32c_table[0][value & 0xFF];
  }
  auto const apply = [](std::array<std::uint32_t, 32> const& map, std::uint32_t value) {
    std::uint32_t result = 0;
    for (std::size_t bit = 0; bit < 32; ++bit)
      if ((value >> bit & 1) != 0) result ^= map[bit];
    return result;
  };
  for (std::size_t length = 1; length < stretch; length *= 2) {
    auto squared = columns;
    for (auto& column : squared) column = apply(columns, column);
    columns = squared;
  }
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::uint32_t b = 0; b < 256; ++b) table[k][b] = apply(columns, b << (8 * k));
  return table;
}
constexpr auto shift_table = make_shift_table();

std::uint64_t shifted(std::uint64_t value) {
  return shift_table[0][value & 0xFF] ^ shift_table[1][value >> 8 & 0xFF] ^
         shift_table[2][value >> 16 & 0xFF] ^ shift_table[3][value >> 24 & 0xFF];
}

std::uint64_t word_at(char const* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::uint32_t crc,
                                                                      std::string_view bytes) {
  std::uint64_t value = ~crc;
  for (; bytes.size() >= 3 * stretch; bytes.remove_prefix(3 * stretch)) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t k = 0; k < stretch; k += 8) {
      value  = __builtin_ia32_crc32di(value, word_at(bytes.data() + k));
      second = __builtin_ia32_crc32di(second, word_at(bytes.data() + stretch + k));
      third  = __builtin_ia32_crc32di(third, word_at(bytes.data() + 2 * stretch + k));
    }
    value = shifted(shifted(value) ^ second) ^ third;
  }
  for (; bytes.size() >= 8; bytes.remove_prefix(8))
    value = __builtin_ia32_crc32di(value, word_at(bytes.data()));
  auto rest = static_cast<std::uint32_t>(value);
  for (char const c : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(c));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t crc, std::string_view bytes) {
  return crc_by_table(crc32c_table, crc, bytes);
}

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
#ifdef POLYAD_CRC32C_INSTRUCTION
  static bool const has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(crc, bytes);
#endif
  return crc32c_by_table(crc, bytes);
}

}  // namespace polyad::io
