// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/mttkrp_tiny_vec.hpp"

namespace polyad::detail {

POLYAD_MTTKRP_TINY_VEC(float, std::uint64_t);
POLYAD_MTTKRP_TINY_VEC(double, std::uint64_t);

}  // namespace polyad::detail
