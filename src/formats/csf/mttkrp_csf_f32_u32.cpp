// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/csf/csf.hpp"
#include "polyad/formats/csf/hb_csf.hpp"

namespace polyad {

POLYAD_MTTKRP_CSF_TREE(float, std::uint32_t);
POLYAD_MTTKRP_CSF_LEVEL(float, std::uint32_t);
POLYAD_MTTKRP_CSL(float, std::uint32_t);
POLYAD_MTTKRP_SINGLES(float, std::uint32_t);
POLYAD_ZERO_ROWS(float, std::uint32_t);
POLYAD_CSF(float, std::uint32_t);
POLYAD_MTTKRP_CSF(float, std::uint32_t);
POLYAD_B_CSF(float, std::uint32_t);
POLYAD_HB_CSF(float, std::uint32_t);

}  // namespace polyad
