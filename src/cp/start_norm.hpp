// SPDX-License-Identifier: BSD-3-Clause
// The norm of a start, from its Gram matrices, and a start whose norm is near the tensor's.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <vector>

#include "cp/cp_als_workspace.hpp"
#include "cp/run/numbers_on_host.hpp"
#include "dense/power_of_two.hpp"
#include "dense/scale_matrix.hpp"
#include "fit/cp_norm.hpp"
#include "fit/double_double.hpp"
#include "fit/fit.hpp"
#include "fit/sum_cells.hpp"

namespace polyad::detail {

/// The norm of the model with these weights, once what writes the Gram matrices has ended. Waits.
template <class Scalar, class Space>
[[nodiscard]] CpNorm norm_on_host(CpAlsWorkspace<Scalar, Space> const& work,
                                  std::vector<double> const& weights) {
  auto const grams = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), work.grams);
  return cp_norm(std::vector<DoubleDouble>(grams.data(), grams.data() + grams.size()), weights);
}

/// For a first update that starts from its factor. It uses the weights as they are, and would leave the range
/// of numbers if the norm of the start were far from the tensor's. So its mode is multiplied by a power of
/// two, which becomes part of the weights: the scale of a start does not matter. Waits.
template <class Scalar, class Space>
void bring_start_near(Space const& space, CpAlsWorkspace<Scalar, Space> const& work, int mode,
                      double tensor_norm) {
  auto weights  = on_host<Space>(work.scales.weights);
  auto scales   = on_host<Space>(work.scale_of(mode));
  auto unscaled = weights;  // for the tensor as it is: their squares are in range
  for (double& weight : unscaled) weight /= work.scales.of_tensor;
  double const factor = tensor_norm / work.scales.of_tensor / norm_on_host(work, unscaled).components;
  if (!is_scale(factor) || (factor > 0x1p-10 && factor < 0x1p10)) return;
  for (double& weight : weights) weight *= power_of_two_below(factor);
  for (double& scale : scales) scale *= power_of_two_below(factor);
  to_device<Space>(space, weights, work.scales.weights);
  to_device<Space>(space, scales, work.scale_of(mode));
}

/// The fit of a start that is so much larger than X that its squares leave the range of doubles: then X is
/// less than a rounding error of M, and the fit is 1 - ||M|| / ||X||. Waits.
template <class Scalar, class Space>
[[nodiscard]] Fit fit_of_far_start(CpAlsWorkspace<Scalar, Space> const& work, ScaledNorm const& tensor,
                                   int order) {
  auto weights = on_host<Space>(work.scales.weights);
  for (double& weight : weights) weight /= tensor.scale;
  auto const norm    = norm_on_host(work, weights);
  double const size  = std::sqrt(tensor.squared) / tensor.scale;
  double const error = 2 * unit_roundoff<Scalar> * (order + 1) * norm.components / size;
  return {1 - std::sqrt(static_cast<double>(norm.squared)) / size, error};
}

/// Multiplies the start by a factor, in its mode n, unless the factor is not a positive number in the usual
/// range. A power of two of it becomes part of the weights if the mode does not keep its scale. The mode's
/// Gram matrix is not updated. Waits.
/// \param A  the factor of mode n
template <class Scalar, class Space>
void multiply_start(Space const& space, CpAlsWorkspace<Scalar, Space> const& work, int n, bool keeps_scale,
                    double factor, FactorMatrix<Scalar, Space> const& A) {
  if (!is_scale(factor)) return;
  double const power  = keeps_scale ? 1 : power_of_two_below(factor);
  auto const multiply = [&](DeviceNumbers<Space> const& numbers) {
    auto values = on_host<Space>(numbers);
    for (double& value : values) value *= power;
    to_device<Space>(space, values, numbers);
  };
  multiply(work.scales.weights);
  multiply(work.scale_of(n));
  scale_matrix(space, A, factor / power);
}

}  // namespace polyad::detail
