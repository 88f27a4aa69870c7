// SPDX-License-Identifier: BSD-3-Clause
// The small arrays of a run's state (CpAlsState): Gram matrices, weights and scales.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "cp/cp_als_workspace.hpp"
#include "cp/numbers_on_host.hpp"
#include "polyad/cp/cp_als.hpp"

namespace polyad::detail {

/// \param of_tensor  the number by which the run has multiplied the tensor. Waits.
template <class Scalar, class Space>
void read_small_arrays(CpAlsWorkspace<Scalar, Space> const& work, double of_tensor, bool has_scales,
                       CpAlsState& state) {
  auto const grams = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), work.grams);
  state.grams.assign(grams.data(), grams.data() + grams.size());
  state.weights = on_host<Space>(work.scales.weights);
  for (double& weight : state.weights) weight /= of_tensor;
  if (has_scales) state.scales = on_host<Space>(work.scales.of_modes);
}

/// The reverse, for a state of the same shape. A state without weights has ones. Waits.
template <class Scalar, class Space>
void write_small_arrays(Space const& space, CpAlsState const& state, double of_tensor,
                        CpAlsWorkspace<Scalar, Space> const& work) {
  auto const grams = Kokkos::create_mirror_view(Kokkos::HostSpace(), work.grams);
  std::copy(state.grams.begin(), state.grams.end(), grams.data());
  Kokkos::deep_copy(space, work.grams, grams);
  std::vector<double> weights(work.scales.weights.extent(0), of_tensor);
  std::transform(state.weights.begin(), state.weights.end(), weights.begin(),
                 [&](double weight) { return weight * of_tensor; });
  to_device<Space>(space, weights, work.scales.weights);
  if (!state.scales.empty()) to_device<Space>(space, state.scales, work.scales.of_modes);
  space.fence("polyad::cp_als");
}

}  // namespace polyad::detail
