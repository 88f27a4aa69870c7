// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/storage/read_nonzeros.hpp"

#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(CooTinyVec, POLYAD_READ_NONZEROS);
POLYAD_EACH_OF(CooScratch, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
