// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/fit.hpp"

namespace polyad {

POLYAD_FIT(float);
POLYAD_FIT(double);

}  // namespace polyad
