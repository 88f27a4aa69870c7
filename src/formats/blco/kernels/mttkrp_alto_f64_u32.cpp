// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_alto.hpp"
#include "formats/blco/kernels/mttkrp_alto.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Alto, double, std::uint32_t);
POLYAD_ALTO_WITH_VALUES(double, std::uint32_t);
POLYAD_ALTO(double, std::uint32_t);

}  // namespace polyad::detail
