// SPDX-License-Identifier: BSD-3-Clause
#include "formats/csf/build/build_b_csf.hpp"
#include "formats/csf/build/build_csf.hpp"
#include "formats/csf/build/build_hb_csf.hpp"
#include "formats/csf/kernels/mttkrp_b_csf.hpp"
#include "formats/csf/kernels/mttkrp_csf.hpp"
#include "formats/csf/kernels/mttkrp_hb_csf.hpp"
#include "formats/csf/kernels/mttkrp_levels.hpp"
#include "formats/csf/kernels/mttkrp_slices.hpp"
#include "formats/csf/kernels/mttkrp_tree.hpp"

namespace polyad::detail {

POLYAD_MTTKRP_CSF_TREE(float, std::uint32_t);
POLYAD_MTTKRP_CSF_LEVEL(float, std::uint32_t);
POLYAD_MTTKRP_CSL(float, std::uint32_t);
POLYAD_MTTKRP_SINGLES(float, std::uint32_t);
POLYAD_ZERO_ROWS(float, std::uint32_t);
POLYAD_CSF(float, std::uint32_t);
POLYAD_MTTKRP(Csf, float, std::uint32_t);
POLYAD_B_CSF(float, std::uint32_t);
POLYAD_MTTKRP(BCsf, float, std::uint32_t);
POLYAD_HB_CSF(float, std::uint32_t);
POLYAD_MTTKRP(HbCsf, float, std::uint32_t);

}  // namespace polyad::detail
