// SPDX-License-Identifier: BSD-3-Clause
// The choice of `polyad fast-tucker --implicit=auto`, which runs on the backend. Free of Kokkos, so that its
// callers are.
#pragma once

#include <functional>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Called after each candidate with the best so far; false ends the search.
using OnRankingCandidate = std::function<bool(RankingChoice const&)>;

/// Holds out the last entry of each row of mode 0 and a tenth of the others, and chooses what the options
/// leave open by the NDCG@10 of the rows of mode 1 there. Puts alpha, the ridge and R into the options.
/// Needs a Session. On several ranks, each passes its part of the entries, and all make the same choice.
/// \param sums  whether repeated entries of ranks are still to be summed
/// \throws what polyad::choose_implicit throws
[[nodiscard]] RankingChoice choose_by_ranking(TrainOptions& options, io::CoordinateList const& train,
                                              bool sums, OnRankingCandidate const& on_candidate);

}  // namespace polyad::cli
