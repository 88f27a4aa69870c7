// SPDX-License-Identifier: BSD-3-Clause
// Writing a command's tensor, and the lines that say what was written.
#pragma once

#include <filesystem>
#include <string>

#include "cli/report/report.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// Writes the tensor as `to` says, or the ending where `to` is empty, and adds the file to the report's
/// FactsReport. Says on stderr when the dialect has no place for the extents. Returns a line that tells of
/// it.
[[nodiscard]] std::string write_output(std::filesystem::path const& path, io::CoordinateList const& tensor,
                                       std::string const& to, io::WriteOptions options, Report& report);

}  // namespace polyad::cli
