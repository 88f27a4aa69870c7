// SPDX-License-Identifier: BSD-3-Clause
// The largest magnitude among the values of entries; infinite if a value is not finite.
#pragma once

#include <algorithm>

#include "fast_tucker/entries.hpp"
#include "tensor/largest_value.hpp"

namespace polyad::detail {

/// Waits for `space`.
template <class Scalar, class Index, class Space>
double largest_value(Space const& space, TrainingSet<Scalar, Index, Space> const& X) {
  double largest = 0;
  X.for_each_stretch(space,
                     [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch, count_t /*first*/) {
                       largest = std::max(largest, largest_value(on, stretch));
                     });
  return largest;
}

}  // namespace polyad::detail
