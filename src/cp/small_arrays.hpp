// SPDX-License-Identifier: BSD-3-Clause
// The small arrays of a run's state: Gram matrices, weights and scales. Also the weights of its model.
#pragma once

#include <cstddef>
#include <vector>

#include "cp/cp_als_workspace.hpp"
#include "cp/run/numbers_on_host.hpp"
#include "dense/normalize_columns.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// \param of_tensor  the number by which the run has multiplied the tensor. Waits.
template <class Scalar, class Space>
void read_small_arrays(CpAlsWorkspace<Scalar, Space> const& work, double of_tensor, bool has_scales,
                       io::Checkpoint& state) {
  state.grams   = on_host<Space>(work.all_grams());
  state.weights = on_host<Space>(work.scales.weights);
  for (double& weight : state.weights) weight /= of_tensor;
  if (has_scales) state.scales = on_host<Space>(work.scales.of_modes);
}

/// Whether a state is that of a run of the same shape.
template <class Scalar, class Space>
[[nodiscard]] bool fits_small_arrays(io::Checkpoint const& state, bool has_scales,
                                     CpAlsWorkspace<Scalar, Space> const& work) {
  return state.factors.size() == work.grams.extent(0) && state.grams.size() == work.grams.size() &&
         state.weights.size() == work.scales.weights.size() &&
         state.scales.size() == (has_scales ? work.scales.of_modes.size() : 0);
}

/// The reverse of read_small_arrays(), for a state of the same shape. Waits.
template <class Scalar, class Space>
void write_small_arrays(Space const& space, io::Checkpoint const& state, double of_tensor,
                        CpAlsWorkspace<Scalar, Space> const& work) {
  to_device<Space>(space, state.grams, work.all_grams());
  auto weights = state.weights;
  for (double& weight : weights) weight *= of_tensor;
  to_device<Space>(space, weights, work.scales.weights);
  if (!state.scales.empty()) to_device<Space>(space, state.scales, work.scales.of_modes);
  space.fence("polyad::cp_als");
}

/// Normalises the columns of mode n, and multiplies the weights by their norms. Waits.
template <class Scalar, class Space>
void split_off_norms(Space const& space, CpAlsWorkspace<Scalar, Space> const& work, int n,
                     FactorMatrix<Scalar, Space> const& A, std::vector<double>& weights) {
  normalize_columns(space, A, work.gram_of(n), work.column_factors);
  space.fence("polyad::cp_als");
  auto const norms = on_host<Space>(work.column_factors);
  for (std::size_t r = 0; r < norms.size(); ++r) weights[r] *= norms[r];
}

}  // namespace polyad::detail
