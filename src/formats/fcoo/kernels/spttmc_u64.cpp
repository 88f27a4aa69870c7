// SPDX-License-Identifier: BSD-3-Clause
#include "formats/fcoo/kernels/spttmc.hpp"

namespace polyad::detail {

POLYAD_KRONECKER_PRODUCT(float, std::uint64_t);
POLYAD_KRONECKER_PRODUCT(double, std::uint64_t);
POLYAD_SPTTMC(float, std::uint64_t);
POLYAD_SPTTMC(double, std::uint64_t);

}  // namespace polyad::detail
