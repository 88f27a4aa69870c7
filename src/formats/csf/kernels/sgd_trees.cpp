// SPDX-License-Identifier: BSD-3-Clause
// The walks of FastTucker over trees: SGD, and residuals.
#include "formats/csf/kernels/sgd_trees.hpp"
#include "formats/csf/kernels/residual_trees.hpp"

namespace polyad::detail {

POLYAD_EACH_OF(BCsf, POLYAD_SGD_SWEEPS);
POLYAD_EACH_OF(BCsf, POLYAD_RESIDUAL_MTTKRP);
POLYAD_EACH_OF(HbCsf, POLYAD_RESIDUAL_MTTKRP);

}  // namespace polyad::detail
