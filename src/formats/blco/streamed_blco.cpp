// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/blco/streamed_blco.hpp"

namespace polyad {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_BLCO);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_MTTKRP_STREAMED_BLCO);

}  // namespace polyad
