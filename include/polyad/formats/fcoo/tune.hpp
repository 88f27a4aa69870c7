// SPDX-License-Identifier: BSD-3-Clause
// Tuning of f-coo (Liu et al., Figure 5 and Table V): threadlen and the threads of a team, measured on the
// tensor at hand. The best shape depends on the lengths of its segments and on the rank.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "polyad/formats/fcoo/fcoo.hpp"

namespace polyad {

struct FCooTrial {
  FCooOptions options;
  double seconds = 0;  // for one pass over all modes: the least of the repetitions
};

/// The paper's grid, as far as our teams go; on a host, where a team is one thread, the threadlens alone.
template <class Space>
std::vector<FCooOptions> fcoo_grid() {
  std::vector<FCooOptions> grid;
  for (int const threadlen : {8, 16, 32, 64})
    for (int const threads : {32, 64, 128, 256})
      if (is_device_space<Space> || threads == FCooShape().team_threads)
        grid.push_back({threadlen, {threads}});
  return grid;
}

/// Times an MTTKRP of every mode with every shape of the grid that the device can launch, the fastest first.
/// The tensor with the best one is X.reshaped(space, tune(space, X, R).front().options). Waits for `space`.
/// \throws UsageError for a rank of 0; MemoryError when factors and outputs of this rank do not fit
template <class Scalar, class Index, class Space>
std::vector<FCooTrial> tune(Space const& space, FCoo<Scalar, Index, Space> const& X, count_t rank,
                            int repetitions = 3) {
  FactorMatrices<Scalar, Space> const factors(space, X.extents(), rank);
  fill_random(space, factors, 0);
  FactorMatrices<Scalar, Space> const outputs(space, X.extents(), rank);
  std::vector<FCooTrial> trials;
  for (auto const& options : fcoo_grid<Space>()) {
    auto const shaped     = X.reshaped(space, options);
    NoWorkspace workspace = shaped.make_workspace(space, rank);
    FCooTrial trial{options, 0};
    try {
      for (int i = -1; i < repetitions; ++i) {  // the first one warms up
        Kokkos::Timer const clock;
        for (int n = 0; n < X.extents().order(); ++n)
          mttkrp(space, shaped, factors, n, workspace, outputs[n]);
        space.fence("polyad::tune");
        double const seconds = clock.seconds();
        if (i >= 0) trial.seconds = i == 0 ? seconds : std::min(trial.seconds, seconds);
      }
    } catch (Error const&) {
      throw;
    } catch (std::runtime_error const&) {
      continue;  // Kokkos: the device cannot launch such a team
    }
    trials.push_back(trial);
  }
  POLYAD_EXPECTS(!trials.empty(), "the device can launch no shape of the grid");
  std::stable_sort(trials.begin(), trials.end(),
                   [](auto const& a, auto const& b) { return a.seconds < b.seconds; });
  return trials;
}

}  // namespace polyad
