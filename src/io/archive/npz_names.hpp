// SPDX-License-Identifier: BSD-3-Clause
// What rows are called, as arrays of an npz archive. "index_base" has one integer. "mode_names" has the names
// of all modes as bytes of UTF-8, one after the other, and "mode_name_ends" where each of them ends. The
// labels of mode n are "labels_n" and "label_ends_n" in the same way. "text_labels" (N booleans) marks modes
// whose labels are text although all of them read as integers. All arrays may be missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/archive/zip.hpp"
#include "io/memory/read_memory.hpp"
#include "io/names/row_names.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// Adds the arrays that the names need.
void add_names(ZipWriter& zip, RowNames const& names);

/// Adds an array of booleans, which are 0 or 1.
void add_booleans(ZipWriter& zip, std::string const& name, std::vector<std::uint8_t> const& booleans);

/// \param extents  the rows of each mode
/// \throws InputError for arrays that are damaged or of other modes and rows; MemoryError
[[nodiscard]] RowNames read_names(RawInput const& input, std::vector<ZipMember> const& members,
                                  ReadMemory& memory, std::vector<std::uint64_t> const& extents);

/// An array with the given number of booleans; empty if there is none. \throws as read_names
[[nodiscard]] std::vector<std::uint8_t> read_booleans(RawInput const& input,
                                                      std::vector<ZipMember> const& members,
                                                      ReadMemory& memory, std::string const& name,
                                                      std::uint64_t count);

}  // namespace polyad::io
