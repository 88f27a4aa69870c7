// SPDX-License-Identifier: BSD-3-Clause
// The walks of FastTucker over trees: SGD, and residuals.
#include "polyad/formats/csf/leaf_trees.hpp"
#include "polyad/formats/csf/residual_trees.hpp"

namespace polyad {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_LEAF_TREES);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SGD_FACTOR_SWEEP_TREES);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SGD_CORE_SWEEP_TREES);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FORM_TREE_RESIDUALS);

}  // namespace polyad
