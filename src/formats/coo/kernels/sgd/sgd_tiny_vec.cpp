// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/sgd/sgd_coo.hpp"

namespace polyad::detail {

#define POLYAD_SGD_TINY_VEC(Scalar, Index)                \
  POLYAD_SGD_FACTOR_SWEEP_COO(CooTinyVec, Scalar, Index); \
  POLYAD_SGD_CORE_SWEEP_COO(CooTinyVec, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SGD_TINY_VEC);

}  // namespace polyad::detail
