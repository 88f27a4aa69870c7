// SPDX-License-Identifier: BSD-3-Clause
// The scratch for the sums that an update writes in addition to its factor. All modes share it.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/cp/factor_update.hpp"

namespace polyad::detail {

template <class Space>
struct UpdateMemory {
  /// \throws MemoryError before allocating
  UpdateMemory(Space const& space, count_t rank)
      : gram_sums(space, rank),
        inner_partials(uninitialized(space, "polyad::inner_product"), gram_sums.partials().extent(0)) {}

  GramWorkspace<Space> gram_sums;
  DeviceNumbers<Space> inner_partials;
};

/// The arrays of the inner product that an update is to write; none if it is not needed.
/// \param weights  w
template <class Space>
InnerProductSums<Space> inner_product_sums(UpdateSums<Space> const& sums,
                                           typename ModeProblem<Space>::Numbers const& weights) {
  if (!sums.needs_inner_product()) return {};
  return {weights, sums.memory->inner_partials, sums.inner_product};
}

}  // namespace polyad::detail
