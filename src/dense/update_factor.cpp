// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/update_factor.hpp"

namespace polyad {

POLYAD_UPDATE_FACTOR(float);
POLYAD_UPDATE_FACTOR(double);

}  // namespace polyad
