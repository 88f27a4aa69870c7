// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/storage/read_nonzeros.hpp"

#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(Alto, POLYAD_READ_NONZEROS);
POLYAD_EACH_OF(Blco, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
