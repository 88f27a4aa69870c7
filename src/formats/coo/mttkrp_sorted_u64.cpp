// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/coo/sorted.hpp"

namespace polyad {

POLYAD_MTTKRP_SORTED(float, std::uint64_t);
POLYAD_SORTED(float, std::uint64_t);
POLYAD_MTTKRP_SORTED(double, std::uint64_t);
POLYAD_SORTED(double, std::uint64_t);

}  // namespace polyad
