// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/fcoo/fcoo.hpp"

namespace polyad {

// One file for both: they share their kernels.
POLYAD_MTTKRP_FCOO(double, std::uint64_t);
POLYAD_SPTTM(double, std::uint64_t);

}  // namespace polyad
