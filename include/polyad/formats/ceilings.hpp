// SPDX-License-Identifier: BSD-3-Clause
// A short measurement of what the cost model counts with (formats/cost_model.hpp).
#pragma once

#include "polyad/core/types.hpp"
#include "polyad/formats/cost_model.hpp"

namespace polyad {

/// Measures the copy, the gather and the atomic addition of rows of 32 columns: some 0.2 s, and at most a
/// quarter of the memory that is free. Waits for `space`. \throws MemoryError where not even a megabyte is
/// free
template <class Scalar, class Space>
[[nodiscard]] Ceilings measure_ceilings(Space const& space);

extern template Ceilings measure_ceilings<float>(Kokkos::DefaultExecutionSpace const&);
extern template Ceilings measure_ceilings<double>(Kokkos::DefaultExecutionSpace const&);

}  // namespace polyad
