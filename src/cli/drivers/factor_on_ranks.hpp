// SPDX-License-Identifier: BSD-3-Clause
// `polyad cpd` on several ranks: the part that runs on the backend. Free of Kokkos.
#pragma once

#include "cli/drivers/factor.hpp"

namespace polyad::cli {

struct RanksOutcome {
  io::HostKtensor model;  // on rank 0, empty elsewhere
  int signal = 0;         // that ended the run on any rank
};

/// All ranks call it together; it needs a Session. Brings the tensor, which rank 0 has, to its ranks, builds
/// their formats and runs CP-ALS. Rank 0 writes checkpoints, and has the one to resume.
/// \param tensor  empty on other ranks than 0
/// \param report  filled on rank 0, as factor() does; report.ranks too
/// \throws as factor(); MemoryError naming the rank whose share does not fit
[[nodiscard]] RanksOutcome factor_on_ranks(CpdOptions const& options, io::CoordinateList&& tensor,
                                           Report& report, OnIteration const& on_iteration,
                                           Checkpoints const& checkpoints);

}  // namespace polyad::cli
