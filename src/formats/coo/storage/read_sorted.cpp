// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(CooPermuted, POLYAD_READ_NONZEROS);
POLYAD_EACH_OF(Sorted, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
