// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/mttkrp_scratch.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(CooScratch, POLYAD_MTTKRP);

}  // namespace polyad::detail
