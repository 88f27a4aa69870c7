// SPDX-License-Identifier: BSD-3-Clause
// Coordinate text of every dialect: indices counted from 1, values as the shortest number that reads back to
// the same double.
#pragma once

#include <filesystem>

#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// \throws WriteError; the previous file then stays
void write_tns(std::filesystem::path const& path, CoordinateList const& tensor, Dialect dialect, int threads);

}  // namespace polyad::io
