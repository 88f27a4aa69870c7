// SPDX-License-Identifier: BSD-3-Clause
// The checksum of .pten files: CRC-32C (Castagnoli, polynomial 0x82F63B78 reflected), for which processors
// have an instruction.
#pragma once

#include <cstdint>
#include <string_view>

namespace polyad::io {

/// The checksum of `bytes` after bytes whose checksum is `crc`; start with 0.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

/// The same without the processor's instruction.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t crc, std::string_view bytes);

}  // namespace polyad::io
