// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/build_streamed_sorted.hpp"
#include "formats/coo/walk_stretches.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED_OPERATIONS);

}  // namespace polyad::detail
