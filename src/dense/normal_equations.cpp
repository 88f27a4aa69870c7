// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/normal_equations.hpp"

namespace polyad {

POLYAD_NORMAL_EQUATIONS(float);
POLYAD_NORMAL_EQUATIONS(double);

}  // namespace polyad
