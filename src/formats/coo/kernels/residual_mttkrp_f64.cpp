// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/residual_mttkrp.hpp"

namespace polyad::detail {

POLYAD_RESIDUAL_MTTKRP(double, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP(double, std::uint64_t);
POLYAD_RESIDUAL_MTTKRP_PERMUTED(double, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP_PERMUTED(double, std::uint64_t);

}  // namespace polyad::detail
