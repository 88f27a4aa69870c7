// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/blco/alto.hpp"

namespace polyad {

POLYAD_MTTKRP_ALTO(double, std::uint32_t);
POLYAD_ALTO(double, std::uint32_t);

}  // namespace polyad
