// SPDX-License-Identifier: BSD-3-Clause
// Replaces mpi_calls.cpp in a build without MPI.
#include <cstdlib>
#include <string>

#include "distributed/collectives/mpi_api.hpp"
#include "polyad/core/error.hpp"

namespace polyad {

namespace {
constexpr auto without_mpi = "this build has no MPI: configure it with -DPOLYAD_ENABLE_MPI=ON";
}

namespace detail {

std::unique_ptr<MpiApi> mpi_calls(std::optional<int>) {
  throw UsageError(without_mpi);
}

bool mpi_takes_device_memory() {
  return false;
}

}  // namespace detail

bool mpi_is_built() noexcept {
  return false;
}

std::string mpi_version() {
  return {};
}

MpiScope::MpiScope() {
  throw UsageError(without_mpi);
}

MpiScope::~MpiScope() = default;

void MpiScope::abort(int exit_code) const {
  std::_Exit(exit_code);
}

}  // namespace polyad
