// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/sgd/sgd_coo.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SWEEPS_OF_COO_FIBERS);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CORE_SWEEPS_OF_COO_FIBERS);

}  // namespace polyad::detail
