// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/normalize_columns.hpp"

namespace polyad {

POLYAD_NORMALIZE_COLUMNS(float);
POLYAD_NORMALIZE_COLUMNS(double);

}  // namespace polyad
