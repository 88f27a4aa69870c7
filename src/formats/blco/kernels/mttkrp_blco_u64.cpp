// SPDX-License-Identifier: BSD-3-Clause
#include "formats/blco/build/build_blco.hpp"
#include "formats/blco/kernels/mttkrp_blco.hpp"

namespace polyad::detail {

POLYAD_MTTKRP(Blco, float, std::uint64_t);
POLYAD_BLCO_WITH_VALUES(float, std::uint64_t);
POLYAD_BLCO(float, std::uint64_t);
POLYAD_MTTKRP(Blco, double, std::uint64_t);
POLYAD_BLCO_WITH_VALUES(double, std::uint64_t);
POLYAD_BLCO(double, std::uint64_t);
POLYAD_ADD_TILE_PRODUCTS(float, std::uint64_t);
POLYAD_ADD_TILE_PRODUCTS(double, std::uint64_t);

}  // namespace polyad::detail
