// SPDX-License-Identifier: BSD-3-Clause
// The instantiations of dense/. They are in one source, since most of the cost of compiling is in the
// headers.
#include "dense/gram.hpp"
#include "dense/gram_by_parts.hpp"
#include "dense/multiply_rows.hpp"
#include "dense/normalize_columns.hpp"
#include "dense/nvecs.hpp"
#include "dense/scale_columns.hpp"
#include "dense/transposed_product.hpp"
#include "dense/update/normal_equations.hpp"
#include "dense/update/update_factor.hpp"

namespace polyad::detail {

POLYAD_EACH_SCALAR(, POLYAD_GRAM);
POLYAD_EACH_SCALAR(, POLYAD_MULTIPLY_ROWS);
POLYAD_EACH_SCALAR(, POLYAD_NORMAL_EQUATIONS);
POLYAD_EACH_SCALAR(, POLYAD_NORMALIZE_COLUMNS);
POLYAD_EACH_SCALAR(, POLYAD_SCALE_COLUMNS);
POLYAD_EACH_SCALAR(, POLYAD_TRANSPOSED_PRODUCT);
POLYAD_EACH_SCALAR(, POLYAD_UPDATE_FACTOR);

}  // namespace polyad::detail

namespace polyad {

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_NVECS);

}  // namespace polyad
