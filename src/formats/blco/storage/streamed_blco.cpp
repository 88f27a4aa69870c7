// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_streamed_blco.hpp"
#include "formats/blco/kernels/mttkrp_streamed_blco.hpp"
#include "formats/blco/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_BLCO);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_MTTKRP_STREAMED_BLCO);
#define POLYAD_READ_STREAMED_BLCO(Scalar, Index) POLYAD_READ_NONZEROS(StreamedBlco, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_READ_STREAMED_BLCO);

}  // namespace polyad::detail
