// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/gram.hpp"

namespace polyad {

POLYAD_GRAM(float);
POLYAD_GRAM(double);

}  // namespace polyad
