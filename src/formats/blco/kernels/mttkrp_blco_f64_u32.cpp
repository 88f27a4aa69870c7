// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_blco.hpp"
#include "formats/blco/kernels/mttkrp_blco.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Blco, double, std::uint32_t);
POLYAD_BLCO_WITH_VALUES(double, std::uint32_t);
POLYAD_BLCO(double, std::uint32_t);
POLYAD_ADD_TILE_PRODUCTS(double, std::uint32_t);
POLYAD_MERGE_COPIES(double);

}  // namespace polyad::detail
