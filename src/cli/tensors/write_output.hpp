// SPDX-License-Identifier: BSD-3-Clause
// Writes a command's tensor, and describes what was written.
#pragma once

#include <filesystem>
#include <string>

#include "cli/report/report.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// Writes the tensor in options.dialect, which must be set. Says on stderr what the dialect has no place for:
/// extents, names, and the number that the indices count from. Returns the seconds of writing.
double write_in_dialect(std::filesystem::path const& path, io::CoordinateList const& tensor,
                        io::WriteOptions const& options);

/// Writes the tensor in the dialect `to`, or by the name's ending if `to` is empty. Adds the file to the
/// report's FactsReport, and says what write_in_dialect says. Returns a line that describes the file.
[[nodiscard]] std::string write_output(std::filesystem::path const& path, io::CoordinateList const& tensor,
                                       std::string const& to, io::WriteOptions options, Report& report);

}  // namespace polyad::cli
