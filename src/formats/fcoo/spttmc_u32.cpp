// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/fcoo/spttmc.hpp"

namespace polyad {

POLYAD_KRONECKER_PRODUCT(float, std::uint32_t);
POLYAD_KRONECKER_PRODUCT(double, std::uint32_t);
POLYAD_SPTTMC(float, std::uint32_t);
POLYAD_SPTTMC(double, std::uint32_t);

}  // namespace polyad
