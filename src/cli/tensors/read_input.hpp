// SPDX-License-Identifier: BSD-3-Clause
// Reading a command's tensor, and the lines that say what was read.
#pragma once

#include <filesystem>
#include <string>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Reads the file and fills in what `report.input` can say by now.
/// \throws InputError
[[nodiscard]] io::CoordinateList read_input(std::filesystem::path const& path, int index_base,
                                            CommonOptions const& common, Report& report);

/// The same for a tensor whose duplicates, zeros and values are settled as it says.
/// \throws InputError, with the line for a duplicate that is an error
[[nodiscard]] io::CoordinateList read_input(TensorInput const& input, CommonOptions const& common,
                                            Report& report);

/// The same on several ranks, which call it together: each gets a part of the nonzeros, and the extents. Where
/// duplicates are an error, or the last one counts, rank 0 gets all.
[[nodiscard]] io::CoordinateList read_input(RankGroup const& ranks, TensorInput const& input,
                                            CommonOptions const& common, Report& report);

/// "30 x 24 x 662 x 1088"
[[nodiscard]] std::string dims_text(std::vector<std::uint64_t> const& dims);

/// "30 x 24 x 662 x 1088, 415898 nonzeros (3 duplicates summed)"
[[nodiscard]] std::string tensor_text(InputReport const& input);

}  // namespace polyad::cli
