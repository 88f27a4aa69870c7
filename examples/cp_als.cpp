// SPDX-License-Identifier: BSD-3-Clause
// Reads a tensor, factors it by CP-ALS and prints the fits and the weights:
//   example_cp_als TENSOR RANK
// The same source runs on one core, on many or on a GPU: Kokkos' default execution space decides.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TENSOR RANK\n", argv[0]);
    return 2;
  }
  // The program, not the library, initialises Kokkos.
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;

  polyad::CpAlsOptions options;
  options.rank           = std::strtoull(argv[2], nullptr, 10);
  options.max_iterations = 20;
  options.tolerance      = 0;

  // Duplicates are summed. A mode of 2^32 rows or more would need std::uint64_t coordinates.
  auto const coordinates = polyad::load_tensor<double, std::uint32_t>(space, argv[1]);

  // The format decides how mttkrp walks the nonzeros. The cost model chooses it here; one can also be named.
  auto const tensor = polyad::any_format(space, coordinates, polyad::format_options(options));
  std::printf("%s because %s\n", tensor.chosen().c_str(), tensor.chosen_because().c_str());

  auto const result = polyad::cp_als(space, tensor, options, [](polyad::CpAlsIteration const& iteration) {
    std::printf("iteration %2d: fit %.9f\n", iteration.iteration, iteration.fit);
    return true;  // false would end the run
  });

  std::printf("fit %.9f after %zu iterations; weights", result.fit, result.history.size());
  for (double const weight : result.model.weights) std::printf(" %.4g", weight);
  std::printf("\n");
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
