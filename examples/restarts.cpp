// SPDX-License-Identifier: BSD-3-Clause
// Runs CP-ALS from several random starts and keeps the best. The fits show which starts ended in a local
// optimum:
//   example_restarts
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  // Eight components that the decomposition can find exactly.
  auto const planted = polyad::planted_tensor<double, std::uint32_t>(space, {90, 80, 70}, 8, 5, 1);

  auto const result = polyad::cp_als(space, planted.tensor,
                                     {.rank = 8, .max_iterations = 100, .tolerance = 1e-8, .restarts = 6});

  for (auto const& run : result.restarts)
    std::printf("seed %llu: fit %.4f after %d iterations, %s\n", static_cast<unsigned long long>(run.seed),
                run.fit, run.iterations, polyad::to_string(run.reason));
  std::printf("best: fit %.4f from start %zu\n", result.fit, result.best_restart);
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
