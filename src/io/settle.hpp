// SPDX-License-Identifier: BSD-3-Clause
// What remains to be done to a list of coordinates once a reader has it.
#pragma once

#include <cstdint>
#include <string>

#include "io/stretch.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// Adds (j, i, sign x) behind the others for every entry (i, j, x) off the diagonal of a matrix.
void mirror(CoordinateList& matrix, double sign);

/// Counts the values that are 0 and, when `drop` is set, takes their entries out; the others keep their
/// order. Of a file that is read in parts: of all of it. \param file  its name, for the message; throws
/// InputError when nothing is left
std::uint64_t settle_zeros(CoordinateList& list, bool drop, std::string const& file,
                           Stretch const& stretch = {});

}  // namespace polyad::io
