// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/build/build_sorted.hpp"
#include "formats/coo/kernels/mttkrp_sorted.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Sorted, float, std::uint64_t);
POLYAD_SORTED(float, std::uint64_t);
POLYAD_MTTKRP(Sorted, double, std::uint64_t);
POLYAD_SORTED(double, std::uint64_t);

}  // namespace polyad::detail
