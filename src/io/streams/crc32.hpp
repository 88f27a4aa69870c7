// SPDX-License-Identifier: BSD-3-Clause
// The checksum of zip archives (CRC-32, polynomial 0xEDB88320 reflected). zlib has it, too, but a build
// without zlib must still write npz.
#pragma once

#include "io/streams/crc_table.hpp"

namespace polyad::io {

inline constexpr CrcTable crc32_table = make_crc_table(0xEDB88320U);

/// The checksum of `bytes` after bytes whose checksum is `crc`; start with 0.
[[nodiscard]] inline std::uint32_t crc32(std::uint32_t crc, std::string_view bytes) {
  return crc_by_table(crc32_table, crc, bytes);
}

}  // namespace polyad::io
