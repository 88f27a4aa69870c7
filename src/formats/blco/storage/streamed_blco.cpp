// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_streamed_blco.hpp"
#include "formats/blco/kernels/mttkrp_streamed_blco.hpp"
#include "formats/blco/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_STREAMED_BLCO);
POLYAD_EACH_OF(StreamedBlco, POLYAD_MTTKRP);
POLYAD_EACH_OF(StreamedBlco, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
