// SPDX-License-Identifier: BSD-3-Clause
// mpi_communicator, and nccl_communicator for builds without NCCL.
#include <memory>

#include "distributed/collectives/mpi_collectives.hpp"
#include "distributed/collectives/nccl_collectives.hpp"
#include "distributed/collectives/on_instance.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad {

using namespace detail;

namespace {

/// \param fortran  the Fortran handle of a communicator; none means MPI_COMM_WORLD
std::unique_ptr<Collectives> on_mpi(std::optional<int> fortran) {
  return std::make_unique<MpiCollectives>(mpi_calls(fortran));
}

}  // namespace

template <class Space>
Communicator<Space> mpi_communicator(Space const& space, std::optional<int> fortran) {
  return {space,
          RankGroup(std::make_shared<OnInstance<Space>>(space, on_mpi(fortran), mpi_takes_device_memory())),
          RankGroup(std::shared_ptr<Collectives>(on_mpi(fortran)))};
}

template <class Space>
Communicator<Space> nccl_communicator(Space const& space, std::optional<int> fortran) {
  if (!nccl_is_built()) throw UsageError("this build has no NCCL: configure it with -DPOLYAD_ENABLE_NCCL=ON");
  return {space, RankGroup(std::shared_ptr<Collectives>(nccl_collectives(space, on_mpi(fortran)))),
          RankGroup(std::shared_ptr<Collectives>(on_mpi(fortran)))};
}

#if !defined(POLYAD_HAVE_NCCL)
bool nccl_is_built() noexcept {
  return false;
}

namespace detail {
std::unique_ptr<Collectives> nccl_collectives(Kokkos::DefaultExecutionSpace const&,
                                              std::unique_ptr<Collectives>) {
  return nullptr;
}
}  // namespace detail
#endif

template Communicator<Kokkos::DefaultExecutionSpace> mpi_communicator(Kokkos::DefaultExecutionSpace const&,
                                                                      std::optional<int>);
template Communicator<Kokkos::DefaultExecutionSpace> nccl_communicator(Kokkos::DefaultExecutionSpace const&,
                                                                       std::optional<int>);

}  // namespace polyad
