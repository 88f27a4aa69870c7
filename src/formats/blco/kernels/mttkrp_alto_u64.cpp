// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_alto.hpp"
#include "formats/blco/kernels/mttkrp_alto.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Alto, float, std::uint64_t);
POLYAD_ALTO_WITH_VALUES(float, std::uint64_t);
POLYAD_ALTO(float, std::uint64_t);
POLYAD_MTTKRP(Alto, double, std::uint64_t);
POLYAD_ALTO_WITH_VALUES(double, std::uint64_t);
POLYAD_ALTO(double, std::uint64_t);

}  // namespace polyad::detail
