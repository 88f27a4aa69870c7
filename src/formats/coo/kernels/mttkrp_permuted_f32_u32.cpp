// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/build/build_permuted.hpp"
#include "formats/coo/kernels/mttkrp_permuted.hpp"

namespace polyad::detail {

POLYAD_MTTKRP_PERMUTED(float, std::uint32_t);
POLYAD_COO_PERMUTED(float, std::uint32_t);

}  // namespace polyad::detail
