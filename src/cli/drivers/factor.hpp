// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad cpd` that runs on the backend. Free of Kokkos, so that its callers can be.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// Called after each iteration; false ends the run.
using OnIteration = std::function<bool(IterationReport const&)>;

/// Writes the model of a run, which stays where it is, to a file. Needs the run's Session.
using SaveModel = std::function<void(std::filesystem::path const&)>;

/// Builds the format of the tensor and runs CP-ALS; sums duplicates. All ranks call it together, in a
/// Session, each with its part of the nonzeros. Several ranks bring them to those that own their blocks. The
/// first rank can then save the model.
/// \param tensor   given up once it is on the device, or sent
/// \param start    factors to start from instead of options.init, the same on all ranks
/// \param resumed  the format of the checkpoint to resume, or empty
/// \param report   filled as far as the work gets: nnz, duplicates, empty_slices, format, ranks, result
/// \throws InputError when a checkpoint is of another tensor or of other options; MemoryError before anything
/// is allocated when the model of one rank cannot fit, or naming the rank whose share does not
[[nodiscard]] SaveModel factor(CpdOptions const& options, io::CoordinateList&& tensor,
                               std::optional<io::HostKtensor> start, Report& report,
                               OnIteration const& on_iteration, std::string const& resumed);

}  // namespace polyad::cli
