// SPDX-License-Identifier: BSD-3-Clause
// What any_format chooses, for a test to compare with what the tool says:
//   chosen_format TENSOR RANK ITERATIONS
#include <cstdio>
#include <cstdlib>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  polyad::CpAlsOptions options;
  options.rank           = std::strtoull(argv[2], nullptr, 10);
  options.max_iterations = std::atoi(argv[3]);
  options.tolerance      = 0;
  auto const X =
      polyad::any_format(space, polyad::load_tensor(space, argv[1]), polyad::format_options(options));
  std::printf("%s because %s\n", X.chosen().c_str(), X.chosen_because().c_str());
  return 0;
}
