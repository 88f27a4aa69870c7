// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/build/build_streamed_sorted.hpp"
#include "formats/coo/kernels/walk_stretches.hpp"
#include "formats/coo/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_SORTED_OPERATIONS);
#define POLYAD_READ_STREAMED_SORTED(Scalar, Index) POLYAD_READ_NONZEROS(StreamedSorted, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_READ_STREAMED_SORTED);

}  // namespace polyad::detail
