// SPDX-License-Identifier: BSD-3-Clause
// The residual sweeps of `blco` and `alto`.
#include "formats/blco/kernels/residual_alto.hpp"
#include "formats/blco/kernels/residual_blco.hpp"

namespace polyad::detail {

POLYAD_RESIDUAL_MTTKRP(Alto, float, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP(Alto, float, std::uint64_t);
POLYAD_RESIDUAL_MTTKRP(Blco, float, std::uint32_t);
POLYAD_RESIDUAL_MTTKRP(Blco, float, std::uint64_t);

}  // namespace polyad::detail
