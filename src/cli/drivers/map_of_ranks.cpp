// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/map_of_ranks.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cli/report/host_facts.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/device.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::cli {

std::vector<std::string> map_of_ranks() {
  DeviceFacts const device = probe_device();
  std::string own          = "rank " + std::to_string(ranks().rank) + "  " + host_name();
  if (auto const devices = static_cast<int>(device.addresses.size()); devices > 0)
    own += ", device " + std::to_string(ranks().local_rank % devices) + " (" + device.name + ")";

  // The texts of all ranks have the same number of words, padded with zeros.
  constexpr std::size_t words = 32;
  own.resize(std::min(own.size(), words * sizeof(std::uint64_t) - 1));
  std::vector<std::uint64_t> all(words * static_cast<std::size_t>(ranks().size), 0);
  auto const text_of = [&](int rank) {
    return reinterpret_cast<char*>(all.data() + words * static_cast<std::size_t>(rank));
  };
  std::memcpy(text_of(ranks().rank), own.data(), own.size());
  mpi_communicator(Kokkos::DefaultExecutionSpace()).host().all_reduce(all.data(), all.size());
  std::vector<std::string> lines;
  for (int k = 0; k < ranks().size; ++k) lines.emplace_back(text_of(k));
  return lines;
}

}  // namespace polyad::cli
