// SPDX-License-Identifier: BSD-3-Clause
// The largest magnitude among the values of entries; infinite where a value is not finite.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "fast_tucker/entries.hpp"

namespace polyad::detail {

template <class Scalar>
struct LargestValue {
  Scalar const* values;
  KOKKOS_FUNCTION void operator()(count_t p, double& most) const {
    double const x = Kokkos::abs(static_cast<double>(values[p]));
    // NaN compares with nothing and would be passed over.
    most = x <= most ? most : x == x ? x : Kokkos::Experimental::infinity_v<double>;
  }
};

/// Waits for `space`.
template <class Scalar, class Index, class Space>
double largest_value(Space const& space, Entries<Scalar, Index, Space> const& X) {
  double largest = 0;
  X.for_each_stretch(
      space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch, count_t /*first*/) {
        double found = 0;
        Kokkos::parallel_reduce("polyad::largest_value",
                                Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(on, 0, stretch.nnz()),
                                LargestValue<Scalar>{stretch.values().data()}, Kokkos::Max<double>(found));
        largest = std::max(largest, found);
      });
  return largest;
}

}  // namespace polyad::detail
