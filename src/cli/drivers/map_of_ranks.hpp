// SPDX-License-Identifier: BSD-3-Clause
// The machines and devices of a run's ranks. Free of Kokkos.
#pragma once

#include <string>
#include <vector>

namespace polyad::cli {

/// "rank 2  node7, device 0 (NVIDIA H200)" for each rank. All ranks call it together; it needs a Session.
[[nodiscard]] std::vector<std::string> map_of_ranks();

}  // namespace polyad::cli
