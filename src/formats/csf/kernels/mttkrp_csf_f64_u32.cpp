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

POLYAD_MTTKRP_CSF_TREE(double, std::uint32_t);
POLYAD_MTTKRP_CSF_LEVEL(double, std::uint32_t);
POLYAD_MTTKRP_CSL(double, std::uint32_t);
POLYAD_MTTKRP_SINGLES(double, std::uint32_t);
POLYAD_ZERO_ROWS(double, std::uint32_t);
POLYAD_CSF(double, std::uint32_t);
POLYAD_MTTKRP(Csf, double, std::uint32_t);
POLYAD_B_CSF(double, std::uint32_t);
POLYAD_MTTKRP(BCsf, double, std::uint32_t);
POLYAD_HB_CSF(double, std::uint32_t);
POLYAD_MTTKRP(HbCsf, double, std::uint32_t);

}  // namespace polyad::detail
