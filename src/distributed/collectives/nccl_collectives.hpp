// SPDX-License-Identifier: BSD-3-Clause
// nccl_collectives: NCCL on the stream of an instance.
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>

#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

/// \param host  collectives of the same ranks on the host; they share NCCL's id of the group through it
/// \throws BackendError
[[nodiscard]] std::unique_ptr<Collectives> nccl_collectives(Kokkos::DefaultExecutionSpace const& space,
                                                            std::unique_ptr<Collectives> host);

}  // namespace polyad::detail
