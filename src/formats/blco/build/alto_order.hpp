// SPDX-License-Identifier: BSD-3-Clause
// The order of the nonzeros in the format alto.
#pragma once

#include <cstdint>

namespace polyad::detail {

/// The arguments of LinearLayout in parts, and whether rows are worth a prefetch.
struct AltoOrder {
  std::uint32_t grouped = 0;  // mask of the modes that are grouped; 0 for ALTO's order
  int slab              = 0;
  int slab_bits         = 0;
  bool prefetch         = false;
};

}  // namespace polyad::detail
