// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/build/build_streamed_sorted.hpp"
#include "formats/coo/kernels/walk_stretches.hpp"
#include "formats/coo/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED_OPERATIONS);
POLYAD_EACH_OF(StreamedSorted, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
