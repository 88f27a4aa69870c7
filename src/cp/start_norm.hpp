// SPDX-License-Identifier: BSD-3-Clause
// The norm of a start, from its Gram matrices, and a start whose norm is near the tensor's.
#pragma once

#include <Kokkos_Core.hpp>
#include <vector>

#include "cp/cp_als_workspace.hpp"
#include "cp/numbers_on_host.hpp"
#include "dense/power_of_two.hpp"
#include "fit/cp_norm.hpp"
#include "fit/double_double.hpp"

namespace polyad::detail {

/// The norm of the model with these weights, once what writes the Gram matrices has ended. Waits.
template <class Scalar, class Space>
[[nodiscard]] CpNorm norm_on_host(CpAlsWorkspace<Scalar, Space> const& work,
                                  std::vector<double> const& weights) {
  auto const grams = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), work.grams);
  return cp_norm(std::vector<DoubleDouble>(grams.data(), grams.data() + grams.size()), weights);
}

/// For a first update that starts from its factor. It takes the weights as they are, and would leave the
/// range of numbers if the norm of the start were far from the tensor's. So mode 0 is multiplied by a power
/// of two, which is part of the weights: the scale of a start does not matter. Waits.
template <class Scalar, class Space>
void bring_start_near(Space const& space, CpAlsWorkspace<Scalar, Space> const& work, double tensor_norm) {
  auto weights  = on_host<Space>(work.scales.weights);
  auto scales   = on_host<Space>(work.scale_of(0));
  auto unscaled = weights;  // for the tensor as it is: their squares are in range
  for (double& weight : unscaled) weight /= work.scales.of_tensor;
  double const factor = tensor_norm / work.scales.of_tensor / norm_on_host(work, unscaled).components;
  if (!is_scale(factor) || (factor > 0x1p-10 && factor < 0x1p10)) return;
  for (double& weight : weights) weight *= power_of_two_below(factor);
  for (double& scale : scales) scale *= power_of_two_below(factor);
  to_device<Space>(space, weights, work.scales.weights);
  to_device<Space>(space, scales, work.scale_of(0));
}

}  // namespace polyad::detail
