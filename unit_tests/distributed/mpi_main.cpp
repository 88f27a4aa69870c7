// SPDX-License-Identifier: BSD-3-Clause
// A session of tests on each rank. One that fails ends them all.
#include <Kokkos_Core.hpp>

#include "polyad/distributed/communicator.hpp"
#include "support/session.hpp"

int main(int argc, char** argv) {
  polyad::MpiScope const mpi;
  int failures = 0;
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    failures = polyad::test::run_session(argc, argv);
  }
  if (failures != 0) mpi.abort(1);
  return 0;
}
