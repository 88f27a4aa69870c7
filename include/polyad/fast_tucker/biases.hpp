// SPDX-License-Identifier: BSD-3-Clause
// The mean and the biases of a completion model, fitted alone and first: what is left of the values is what
// the factors then explain. In turn for each mode n, with e = x - mean - sum over m != n of bias^(m)(i_m),
//
//   bias^(n)(k) = sum over observations with i_n = k of e / (damping + their number),
//
// the minimiser of sum e^2 + damping |bias^(n)|^2. (Not in Li et al., whose models have no biases.)
//
// Sums are made in whole numbers, e times a power of two, so that atomics in any order give the same bits.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

struct BiasOptions {
  int sweeps     = 10;
  double damping = 5;
};

/// Fits model.mean and model.bias to the values of X; the model's factors play no part. Waits for `space`.
/// \throws UsageError when the model has no biases or other extents, the damping is negative or X is empty;
///         NumericalError when a value is not finite
template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model);

/// X with the model's mean and biases taken from its values; shares X's coordinates. Launches on `space` and
/// returns without waiting. \throws UsageError when the extents differ; MemoryError
template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> without_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               FastTuckerModel<Scalar, Space> const& model);

#define POLYAD_FIT_BIASES(Scalar, Index)                                                   \
  template void fit_biases(Kokkos::DefaultExecutionSpace const&,                           \
                           CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                           BiasOptions const&, FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace>&)
#define POLYAD_WITHOUT_BIASES(Scalar, Index)                                                                \
  template CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> without_biases(                          \
      Kokkos::DefaultExecutionSpace const&, CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_FIT_BIASES);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_WITHOUT_BIASES);

}  // namespace polyad
