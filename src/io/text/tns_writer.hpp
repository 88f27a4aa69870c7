// SPDX-License-Identifier: BSD-3-Clause
// Coordinate text of every dialect: values as the shortest number that reads back to the same double.
#pragma once

#include <filesystem>

#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// \param index_base  the number of a mode's first row, 0 or 1; Matrix Market always counts from 1
/// \throws WriteError; the previous file then stays
void write_tns(std::filesystem::path const& path, CoordinateList const& tensor, Dialect dialect,
               int index_base, int threads);

}  // namespace polyad::io
