// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/storage/read_nonzeros.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

#define POLYAD_READ_SORTED(Scalar, Index)           \
  POLYAD_READ_NONZEROS(CooPermuted, Scalar, Index); \
  POLYAD_READ_NONZEROS(Sorted, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_READ_SORTED);

}  // namespace polyad::detail
