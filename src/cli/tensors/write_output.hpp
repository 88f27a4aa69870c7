// SPDX-License-Identifier: BSD-3-Clause
// Writes a command's tensor, and describes what was written.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "cli/report/report.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/labels.hpp"
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

/// \throws NumericalError
void expect_finite_product(std::span<double const> elements);

/// Writes a product with a row for each row of a mode as an array of an .npz, and the names of its rows.
/// \param floats  whether as floats; \param names  those of all modes
/// \throws NumericalError unless it is finite; WriteError
void write_product(std::filesystem::path const& path, std::string const& name, io::HostArray const& product,
                   bool floats, io::RowNames const& names, int mode);

}  // namespace polyad::cli
