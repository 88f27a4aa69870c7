// SPDX-License-Identifier: BSD-3-Clause
// The largest magnitude among the values of a tensor; infinite where a value is not finite.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/coo_tensor.hpp"

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
double largest_value(Space const& space, CooTensor<Scalar, Index, Space> const& X) {
  double largest = 0;
  Kokkos::parallel_reduce("polyad::largest_value",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                          LargestValue<Scalar>{X.values().data()}, Kokkos::Max<double>(largest));
  return X.nnz() == 0 ? 0 : largest;
}

}  // namespace polyad::detail
