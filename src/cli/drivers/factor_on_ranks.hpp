// SPDX-License-Identifier: BSD-3-Clause
// `polyad cpd` on several ranks: the part that runs on the backend. Free of Kokkos.
#pragma once

#include <optional>

#include "cli/drivers/factor.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

struct RanksOutcome {
  SaveModel save;  // on rank 0, empty elsewhere
  int signal = 0;  // the one that ended the run on any rank
};

/// All ranks call it together; it needs a Session. Each reads a part of the file. Brings the nonzeros to
/// their ranks, builds the formats and runs CP-ALS. Rank 0 writes checkpoints, and holds the one to resume.
/// \param start   the model of --init, the same on all ranks
/// \param report  filled on rank 0, as factor() does; report.ranks too
/// \throws as read_input() and factor(); MemoryError naming the rank whose share does not fit
[[nodiscard]] RanksOutcome factor_on_ranks(CpdOptions options, TensorInput const& input,
                                           std::optional<io::HostKtensor> start, Report& report,
                                           OnIteration const& on_iteration);

}  // namespace polyad::cli
