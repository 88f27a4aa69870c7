// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/coo/coo_scratch.hpp"

namespace polyad {

POLYAD_MTTKRP_SCRATCH(float, std::uint64_t);

}  // namespace polyad
