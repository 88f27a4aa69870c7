// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/sgd/sgd_coo.hpp"

namespace polyad::detail {

#define POLYAD_SGD_SORTED(Scalar, Index)                   \
  POLYAD_SGD_FACTOR_SWEEP_COO(CooPermuted, Scalar, Index); \
  POLYAD_SGD_CORE_SWEEP_COO(CooPermuted, Scalar, Index);   \
  POLYAD_SGD_FACTOR_SWEEP_COO(Sorted, Scalar, Index);      \
  POLYAD_SGD_CORE_SWEEP_COO(Sorted, Scalar, Index)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SGD_SORTED);

}  // namespace polyad::detail
