// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/dense/multiply_rows.hpp"

#include "polyad/dense/transposed_product.hpp"

namespace polyad {

POLYAD_MULTIPLY_ROWS(float);
POLYAD_MULTIPLY_ROWS(double);
POLYAD_TRANSPOSED_PRODUCT(float);
POLYAD_TRANSPOSED_PRODUCT(double);

}  // namespace polyad
