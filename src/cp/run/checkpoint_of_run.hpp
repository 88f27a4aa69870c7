// SPDX-License-Identifier: BSD-3-Clause
// The checkpoint files of CP-ALS. `run` is what a run contributes to one: everything but the factors.
#pragma once

#include <filesystem>

#include "polyad/io/checkpoint.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// The checkpoint that the run continues, reduced to the rows that it stores, from the first rank. The other
/// ranks get no factors.
/// \throws InputError on all ranks for a file that is damaged, not a checkpoint, or of another run
[[nodiscard]] io::Checkpoint checkpoint_to_resume(RunRanks const& ranks, std::filesystem::path const& path,
                                                  io::Checkpoint run);

}  // namespace polyad::detail
