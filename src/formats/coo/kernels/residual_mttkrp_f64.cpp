// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/residual_mttkrp.hpp"

namespace polyad::detail {

POLYAD_RESIDUAL_MTTKRP(Sorted, double, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP(Sorted, double, std::uint64_t);
POLYAD_RESIDUAL_MTTKRP(CooPermuted, double, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP(CooPermuted, double, std::uint64_t);

}  // namespace polyad::detail
