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

/// The facts of a checkpoint that a run continues.
struct Resumed {
  std::string format;
  int iteration;
};

/// Uploads the tensor, sums its duplicates, builds the format and runs CP-ALS; needs a Session.
/// \param tensor  given up once it is on the device
/// \param start   factors to start from instead of options.init
/// \param report  filled as far as the work gets: nnz, duplicates, empty_slices, format, result
/// \throws InputError when a checkpoint is of another tensor or of other options; MemoryError before anything
/// is allocated when the model of this rank cannot fit
[[nodiscard]] SaveModel factor(CpdOptions const& options, io::CoordinateList&& tensor,
                               std::optional<io::HostKtensor> start, Report& report,
                               OnIteration const& on_iteration, std::optional<Resumed> const& resumed);

}  // namespace polyad::cli
