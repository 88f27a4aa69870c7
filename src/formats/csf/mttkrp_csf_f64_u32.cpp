// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/csf/csf.hpp"
#include "polyad/formats/csf/hb_csf.hpp"

namespace polyad {

POLYAD_MTTKRP_CSF_TREE(double, std::uint32_t);
POLYAD_MTTKRP_CSF_LEVEL(double, std::uint32_t);
POLYAD_MTTKRP_CSL(double, std::uint32_t);
POLYAD_MTTKRP_SINGLES(double, std::uint32_t);
POLYAD_ZERO_ROWS(double, std::uint32_t);
POLYAD_CSF(double, std::uint32_t);
POLYAD_MTTKRP_CSF(double, std::uint32_t);
POLYAD_B_CSF(double, std::uint32_t);
POLYAD_HB_CSF(double, std::uint32_t);

}  // namespace polyad
