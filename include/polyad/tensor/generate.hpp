// SPDX-License-Identifier: BSD-3-Clause
// Synthetic tensors. Coordinates are uniform or follow a power law, alone or in runs along one mode; or the
// tensor is sparse and of known rank. Every number is a pure function of the seed and its place, so the same
// seed gives the same bits on every backend.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

/// The distribution of a power_law_tensor's nonzeros.
struct PowerLawOptions {
  std::array<double, max_order> skew{};  // per mode: the k-th most frequent row has nonzeros ~ k^-skew
  count_t fiber_run  = 1;                // mean length of the runs that share every index but one; 1: no runs
  int run_mode       = -1;               // the mode along which a run extends; -1: the longest one
  std::uint64_t seed = 0;
};

/// A planted tensor and the model that it equals.
template <class Scalar, class Index, class Space>
struct PlantedTensor {
  CooTensor<Scalar, Index, Space> tensor;
  Ktensor<Scalar, Space> model;
};

/// About nnz nonzeros at distinct places. At most one in a hundred is missing if the extents have room for
/// them; otherwise there are as many as ten draws find. Values are in (0, 1], but at places that are drawn
/// twice the two values are added. Waits for `space`.
/// \throws UsageError when nnz > 0 and a mode has no rows, a skew is negative, fiber_run is 0 or run_mode >=
///         N; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> power_law_tensor(Space const& space, Extents const& extents,
                                                               count_t nnz, PowerLawOptions const& options);

/// About nnz nonzeros with uniform indices. Otherwise as power_law_tensor.
template <class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> uniform_tensor(Space const& space, Extents const& extents,
                                                             count_t nnz, std::uint64_t seed) {
  PowerLawOptions options;
  options.seed = seed;
  return power_law_tensor<Scalar, Index>(space, extents, nnz, options);
}

/// A sparse tensor of rank R exactly: component r is dense on `block` rows of each mode and zero elsewhere.
/// No two components share a row: the decomposition is unique (Kruskal), and CP-ALS can reach a fit of 1.
/// nnz = R block^N, without duplicates. Launches on `space` and returns without waiting.
/// \throws UsageError when R or block is 0 or R blocks do not fit a mode; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] PlantedTensor<Scalar, Index, Space> planted_tensor(Space const& space, Extents const& extents,
                                                                 count_t rank, count_t block,
                                                                 std::uint64_t seed);

}  // namespace polyad
