// SPDX-License-Identifier: BSD-3-Clause
// What the library compiles of cp/. In one source: most of its cost is in the headers.
#include "polyad/cp/arrange_components.hpp"
#include "polyad/cp/cp_als_run.hpp"
#include "polyad/cp/fit.hpp"

namespace polyad {

POLYAD_EACH_SCALAR(, POLYAD_ARRANGE_COMPONENTS);
POLYAD_EACH_SCALAR(, POLYAD_FIT);
POLYAD_EACH_SCALAR(, POLYAD_CP_ALS_WORKSPACE);

}  // namespace polyad
