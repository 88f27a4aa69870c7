// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/ranks.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::cli {

namespace {

std::optional<MpiScope> scope;
Ranks found;

}  // namespace

void start_ranks() {
  if (!mpi_is_built() || !started_by_launcher()) return;
  scope.emplace();
  found = {scope->rank(), scope->size(), scope->local_rank(), scope->local_size()};
  if (found.rank > 0 && std::freopen("/dev/null", "w", stdout) == nullptr)
    throw WriteError("stdout of a rank cannot be sent to /dev/null");
}

void end_ranks() {
  scope.reset();
}

Ranks const& ranks() noexcept {
  return found;
}

void abort_ranks(int exit_code) {
  if (scope) scope->abort(exit_code);
  std::_Exit(exit_code);
}

std::string mpi_text() {
  return mpi_is_built() ? mpi_version() : "none";
}

bool has_nccl() {
  return nccl_is_built();
}

}  // namespace polyad::cli
