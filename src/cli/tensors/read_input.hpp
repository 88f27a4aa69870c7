// SPDX-License-Identifier: BSD-3-Clause
// Reads a command's tensor, and describes what was read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// The input of a command that sums duplicates itself, on the device.
[[nodiscard]] TensorInput input_to_sum(SummedTensorOptions const& options);

/// Reads the file and fills in `report.input` as far as it is known. Treats duplicates, zeros and values as
/// the input says.
/// \throws InputError, with the line for a duplicate that is an error
/// \param part  the part of the file that this process reads; duplicates that are not kept are treated within
///              it
[[nodiscard]] io::TensorFile read_input_file(TensorInput const& input, CommonOptions const& common,
                                             Report& report, io::FilePart const& part = {});
/// The same for a file that is already open.
[[nodiscard]] io::TensorFile read_input_file(io::InputFile& file, TensorInput const& input,
                                             CommonOptions const& common, Report& report);

/// The line of a nonzero, counted from 0, in a file that was read; nothing if the line is not known, or the
/// file has changed.
[[nodiscard]] std::optional<std::uint64_t> line_of_nonzero(std::filesystem::path const& path,
                                                           std::uint64_t nonzero);

/// A line for each mode that has a name or labels: "mode 0      user: 6040 labels, 'alice', 'bob', ...".
/// Empty without names.
[[nodiscard]] std::string labels_text(io::Labels const& labels);

/// "30 x 24 x 662 x 1088"
[[nodiscard]] std::string dims_text(std::vector<std::uint64_t> const& dims);

/// "30 x 24 x 662 x 1088, 415898 nonzeros (3 duplicates summed)"
[[nodiscard]] std::string tensor_text(InputReport const& input);

}  // namespace polyad::cli
