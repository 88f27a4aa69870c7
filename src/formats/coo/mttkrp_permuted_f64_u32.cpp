// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/coo/coo_permuted.hpp"

namespace polyad {

POLYAD_MTTKRP_PERMUTED(double, std::uint32_t);
POLYAD_COO_PERMUTED(double, std::uint32_t);

}  // namespace polyad
