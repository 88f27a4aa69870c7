// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/mttkrp_scratch.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_MTTKRP_SCRATCH);

}  // namespace polyad::detail
