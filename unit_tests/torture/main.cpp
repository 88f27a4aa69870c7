// SPDX-License-Identifier: BSD-3-Clause
// polyad_torture PART FOLDER SECONDS SEED [CASE [FROM [TO]]]; Kokkos' arguments come first.
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "torture/torture.hpp"

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  if (argc < 5) {
    std::fprintf(stderr,
                 "polyad_torture allocations|allocation_cases|metamorphic|soak FOLDER SECONDS SEED "
                 "[CASE [FROM [TO]]]\n");
    return 2;
  }
  std::string const part = argv[1];
  polyad::torture::Wanted wanted;
  wanted.folder  = argv[2];
  wanted.seconds = std::atof(argv[3]);
  wanted.seed    = std::strtoull(argv[4], nullptr, 10);
  if (argc > 5) wanted.only = argv[5];
  if (argc > 6) wanted.from = std::strtoull(argv[6], nullptr, 10);
  if (argc > 7) wanted.to = std::strtoull(argv[7], nullptr, 10);
  int findings = -1;
  if (part == "allocations") findings = polyad::torture::allocations(wanted);
  if (part == "allocation_cases") findings = polyad::torture::allocation_cases(wanted);
  if (part == "metamorphic") findings = polyad::torture::metamorphic(wanted);
  if (part == "soak") findings = polyad::torture::soak(wanted);
  return findings == 0 ? 0 : findings < 0 ? 2 : 1;
}
