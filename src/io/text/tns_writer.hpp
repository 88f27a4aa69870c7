// SPDX-License-Identifier: BSD-3-Clause
// Coordinate text of every dialect: values as the shortest number that reads back to the same double.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The extents with blanks between them.
[[nodiscard]] std::string extents_line(std::vector<std::uint64_t> const& extents);

/// \param header   whole lines, which are written first
/// \param options  its index base and threads
/// \throws WriteError; the previous file then stays
void write_coordinate_text(std::filesystem::path const& path, CoordinateList const& tensor,
                           std::string const& header, WriteOptions const& options);

}  // namespace polyad::io
