// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/communicator.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/format_choice/machine.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/standard_streams.hpp"
#include "polyad/core/device.hpp"

namespace polyad::cli {

namespace {

/// Whether two ranks have the same device. A launcher may show each rank one device, or all of them.
bool share_devices() {
  auto const addresses = probe_device().addresses;
  std::uint64_t key    = std::hash<std::string>()(host_name());
  if (!addresses.empty())
    key ^=
        std::hash<std::uint64_t>()(addresses[ranks().local_rank % addresses.size()] * 0x9E3779B97F4A7C15ULL);
  auto keys = of_all_ranks({key});
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

Communicator<Kokkos::DefaultExecutionSpace> by_mpi_or_nccl(bool deterministic) {
  Kokkos::DefaultExecutionSpace const space;
  if (!runs_on_device()) return mpi_communicator(space);
  bool const shared = share_devices();
  if (shared)
    say_text("polyad: warning: more ranks than devices: ranks share a device, and exchange by MPI\n");
  if (shared || !nccl_is_built() || deterministic) return mpi_communicator(space);
  return nccl_communicator(space);
}

}  // namespace

Communicator<Kokkos::DefaultExecutionSpace> make_communicator(bool deterministic) {
  if (ranks().size == 1) return Communicator<Kokkos::DefaultExecutionSpace>(Kokkos::DefaultExecutionSpace());
  return by_mpi_or_nccl(deterministic);
}

Communicator<Kokkos::DefaultExecutionSpace> make_communicator(bool deterministic, Report& report) {
  auto world = make_communicator(deterministic);
  if (ranks().size == 1) return world;
  auto& made    = report.ranks.emplace();
  made.count    = world.size();
  made.exchange = world.data().name();
  return world;
}

RankGroup ranks_on_host() {
  return ranks().size == 1 ? RankGroup() : mpi_communicator(Kokkos::DefaultExecutionSpace()).host();
}

}  // namespace polyad::cli
