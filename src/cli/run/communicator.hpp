// SPDX-License-Identifier: BSD-3-Clause
// The communicator of the tool's ranks.
#pragma once

#include <Kokkos_Core.hpp>

#include "cli/report/report.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::cli {

/// The communicator of a single rank if there is only one. Otherwise NCCL if each rank has its own device,
/// else MPI. All ranks call it, in a Session. Rank 0 warns where ranks share a device.
/// \param deterministic  uses MPI: NCCL chooses the order of sums by the hardware it finds
[[nodiscard]] Communicator<Kokkos::DefaultExecutionSpace> make_communicator(bool deterministic);
/// The same. With several ranks the report gets their number and the exchange.
[[nodiscard]] Communicator<Kokkos::DefaultExecutionSpace> make_communicator(bool deterministic,
                                                                            Report& report);

/// For arrays in host memory: MPI, or one rank by itself. Several ranks call it in a Session.
[[nodiscard]] RankGroup ranks_on_host();

}  // namespace polyad::cli
