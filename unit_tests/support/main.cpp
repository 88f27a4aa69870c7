// SPDX-License-Identifier: BSD-3-Clause
// The tests' own main: Kokkos lives as long as the session, and takes its own arguments first
// (--kokkos-num-threads=4).
#define CATCH_CONFIG_RUNNER
#include <Kokkos_Core.hpp>

#include "support/catch.hpp"

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return Catch::Session().run(argc, argv);
}
