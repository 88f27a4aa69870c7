// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/csf/mttkrp_levels.hpp"
#include "polyad/formats/csf/mttkrp_slices.hpp"
#include "polyad/formats/csf/mttkrp_tree.hpp"

namespace polyad {

POLYAD_MTTKRP_CSF_TREE(double, std::uint64_t);
POLYAD_MTTKRP_CSF_LEVEL(double, std::uint64_t);
POLYAD_MTTKRP_CSL(double, std::uint64_t);
POLYAD_MTTKRP_SINGLES(double, std::uint64_t);
POLYAD_ZERO_ROWS(double, std::uint64_t);

}  // namespace polyad
