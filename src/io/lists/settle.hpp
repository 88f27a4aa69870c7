// SPDX-License-Identifier: BSD-3-Clause
// The last steps for a list of coordinates that a reader has filled.
#pragma once

#include <cstdint>
#include <string>

#include "io/memory/read_memory.hpp"
#include "io/text/stretch.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// Appends (j, i, sign x) for every entry (i, j, x) off the diagonal of a matrix.
/// \throws MemoryError
void mirror(CoordinateList& matrix, double sign, ReadMemory& memory);

/// Counts the values that are 0. If `drop` is set, removes their entries; the others keep their order. For a
/// file that is read in parts, the count is of the whole file.
/// \param file  its name, for the message; throws InputError when nothing is left
std::uint64_t drop_or_count_zeros(CoordinateList& list, bool drop, std::string const& file,
                                  FileRange const& stretch = {});

}  // namespace polyad::io
