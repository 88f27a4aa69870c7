// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/blco/alto.hpp"

namespace polyad {

POLYAD_MTTKRP_ALTO(float, std::uint64_t);
POLYAD_ALTO(float, std::uint64_t);
POLYAD_MTTKRP_ALTO(double, std::uint64_t);
POLYAD_ALTO(double, std::uint64_t);

}  // namespace polyad
