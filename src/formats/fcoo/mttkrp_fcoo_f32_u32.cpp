// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/fcoo/fcoo.hpp"

namespace polyad {

// One file for both: they share their kernels.
POLYAD_MTTKRP_FCOO(float, std::uint32_t);
POLYAD_SPTTM(float, std::uint32_t);

}  // namespace polyad
