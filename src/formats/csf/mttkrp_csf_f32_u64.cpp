// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/csf/mttkrp_levels.hpp"
#include "polyad/formats/csf/mttkrp_slices.hpp"
#include "polyad/formats/csf/mttkrp_tree.hpp"

namespace polyad {

POLYAD_MTTKRP_CSF_TREE(float, std::uint64_t);
POLYAD_MTTKRP_CSF_LEVEL(float, std::uint64_t);
POLYAD_MTTKRP_CSL(float, std::uint64_t);
POLYAD_MTTKRP_SINGLES(float, std::uint64_t);
POLYAD_ZERO_ROWS(float, std::uint64_t);

}  // namespace polyad
