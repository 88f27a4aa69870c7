// SPDX-License-Identifier: BSD-3-Clause
// The checkpoint files of CP-ALS. `run` is what a run has for one: all but the factors.
#pragma once

#include <filesystem>
#include <string>

#include "polyad/io/checkpoint.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// What `found` is, if it is of another tensor than `run` or of options that give other iterates; otherwise
/// empty.
/// \param any_format  on several ranks: the iterates of formats differ by rounding alone
[[nodiscard]] std::string difference_of_runs(io::Checkpoint const& found, io::Checkpoint const& run,
                                             bool any_format);

/// The checkpoint that the run continues, of the rows that it stores, from the first rank. The other ranks
/// get no factors.
/// \throws InputError on all ranks for a file that is damaged, no checkpoint, or of another run
[[nodiscard]] io::Checkpoint checkpoint_to_resume(RunRanks const& ranks, std::filesystem::path const& path,
                                                  io::Checkpoint run, bool any_format);

/// Writes the checkpoint on the first rank. All ranks read the factors. \throws WriteError
void write_checkpoint_of_run(RunRanks const& ranks, std::filesystem::path const& path,
                             io::Checkpoint const& run, io::ReadFactorRows const& read);

}  // namespace polyad::detail
