// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/kernels/merge/private_output.hpp"

namespace polyad::detail {

POLYAD_PRIVATE_OUTPUT(, float);
POLYAD_PRIVATE_OUTPUT(, double);

}  // namespace polyad::detail
