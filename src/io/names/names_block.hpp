// SPDX-License-Identifier: BSD-3-Clause
// The names of modes and the labels of their rows as bytes, for binary files (docs/file-formats.md). All
// numbers are little-endian. For each mode:
//
//   u8 flags: 1 the rows have labels, 2 the labels are text; 3 bytes of 0; u32 bytes of the mode's name
//   the name in UTF-8
//   with labels: where each of the I_n labels ends, as u64, and the labels in UTF-8, one after the other
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/memory/read_memory.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// The bytes of labels that fit the extents; nothing if nothing is named.
/// \throws UsageError for a mode's name of 2^32 bytes or more
[[nodiscard]] std::string names_block(Labels const& labels);

/// Reads the bytes back. Memory is taken only for what they hold.
/// \param file  its name, for messages
/// \throws InputError for bytes that are damaged, or of other modes and rows; MemoryError
[[nodiscard]] Labels labels_of_block(std::string const& file, std::string_view block,
                                     std::vector<std::uint64_t> const& extents, ReadMemory& memory);

}  // namespace polyad::io
