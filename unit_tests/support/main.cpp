// SPDX-License-Identifier: BSD-3-Clause
// The tests' own main: Kokkos lives as long as the session, and takes its own arguments first
// (--kokkos-num-threads=4).
#include <Kokkos_Core.hpp>

#include "support/session.hpp"

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return polyad::test::run_session(argc, argv);
}
