// SPDX-License-Identifier: BSD-3-Clause
#include "formats/fcoo/kernels/spttmc.hpp"

namespace polyad::detail {

POLYAD_KRONECKER_PRODUCT(float, std::uint32_t);
POLYAD_KRONECKER_PRODUCT(double, std::uint32_t);
POLYAD_SPTTMC(float, std::uint32_t);
POLYAD_SPTTMC(double, std::uint32_t);
POLYAD_SPTTMC_COLUMNS(float);
POLYAD_SPTTMC_COLUMNS(double);

}  // namespace polyad::detail

namespace polyad {

POLYAD_SPTTMC_OUTPUT(float);
POLYAD_SPTTMC_OUTPUT(double);

}  // namespace polyad
