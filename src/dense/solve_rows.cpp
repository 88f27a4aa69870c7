// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/solve_rows.hpp"

namespace polyad {

POLYAD_SOLVE_ROWS(float);
POLYAD_SOLVE_ROWS(double);

}  // namespace polyad
