// SPDX-License-Identifier: BSD-3-Clause
// nccl_collectives: NCCL on the stream of an instance.
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>

#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

/// \param host  the same ranks, which agree through it on NCCL's number of the group
/// \throws BackendError
[[nodiscard]] std::unique_ptr<Collectives> nccl_collectives(Kokkos::DefaultExecutionSpace const& space,
                                                            std::unique_ptr<Collectives> host);

}  // namespace polyad::detail
