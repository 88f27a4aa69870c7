// SPDX-License-Identifier: BSD-3-Clause
// Tuning of f-coo (Liu et al., Figure 5 and Table V): measures threadlen and the threads of a team on a given
// tensor.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "formats/fcoo/costs/fcoo_tuning.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space>
std::vector<FCooOptions> fcoo_grid() {
  std::vector<FCooOptions> grid;
  for (int const threadlen : {8, 16, 32, 64})
    for (int const threads : fcoo_team_sizes<Space>()) grid.push_back({threadlen, {threads}});
  return grid;
}

template <class Scalar, class Index, class Space>
std::vector<FCooTrial> tune(Space const& space, FCoo<Scalar, Index, Space> const& X, count_t rank,
                            int repetitions) {
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

#define POLYAD_TUNE_FCOO(Scalar, Index)                                                                 \
  template std::vector<FCooTrial> tune(CompiledSpace const&, FCoo<Scalar, Index, CompiledSpace> const&, \
                                       count_t, int)

}  // namespace polyad::detail
