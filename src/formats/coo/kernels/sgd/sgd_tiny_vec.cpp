// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/sgd/sgd_coo.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(CooTinyVec, POLYAD_SGD_SWEEPS);

}  // namespace polyad::detail
