// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/storage/read_nonzeros.hpp"

#include "polyad/core/instances.hpp"

namespace polyad::detail {

#define POLYAD_READ_LINEAR(Scalar, Index)    \
  POLYAD_READ_NONZEROS(Alto, Scalar, Index); \
  POLYAD_READ_NONZEROS(Blco, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_READ_LINEAR);

}  // namespace polyad::detail
