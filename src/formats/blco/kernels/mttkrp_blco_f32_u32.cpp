// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_blco.hpp"
#include "formats/blco/kernels/mttkrp_blco.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Blco, float, std::uint32_t);
POLYAD_BLCO_WITH_VALUES(float, std::uint32_t);
POLYAD_BLCO(float, std::uint32_t);
POLYAD_ADD_TILE_PRODUCTS(float, std::uint32_t);
POLYAD_MERGE_COPIES(float);

}  // namespace polyad::detail
