// SPDX-License-Identifier: BSD-3-Clause
#include "kernel/launch.hpp"

namespace polyad::detail {

POLYAD_LAUNCH_POINTER(HostTeams);
POLYAD_LAUNCH_POINTER(DynamicHostTeams);
POLYAD_LAUNCH_POINTER(HostRange);

}  // namespace polyad::detail
