// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/sgd/sgd_coo.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(CooPermuted, POLYAD_SGD_SWEEPS);
POLYAD_EACH_OF(Sorted, POLYAD_SGD_SWEEPS);

}  // namespace polyad::detail
