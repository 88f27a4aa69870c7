// SPDX-License-Identifier: BSD-3-Clause
// Reads a tensor, factors it by CP-ALS and prints the fits and the weights:
//   example_cp_als TENSOR RANK
// The same source runs on one core, on many or on a GPU: Kokkos' default execution space decides.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <polyad/io/tns_reader.hpp>
#include <polyad/polyad.hpp>
#include <span>
#include <variant>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TENSOR RANK\n", argv[0]);
    return 2;
  }
  // The program owns Kokkos, not the library.
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;

  // A file becomes a list of coordinates on the host. A long mode would need 64-bit indices: the other
  // alternative of this variant.
  auto const list     = polyad::io::read_tns(argv[1]).tensor;
  auto const& indices = std::get<polyad::io::UninitializedVector<std::uint32_t>>(list.indices);
  polyad::Extents const extents{std::span<std::uint64_t const>(list.extents)};
  auto const coordinates = polyad::upload<double, std::uint32_t>(space, extents, std::span(indices), std::span(list.values));

  // The format decides how mttkrp walks the nonzeros; all have the same contract.
  using Format      = polyad::CooPermuted<double, std::uint32_t, Space>;
  auto const tensor = Format::build(space, coordinates, {});

  polyad::CpAlsOptions options;
  options.rank           = std::strtoull(argv[2], nullptr, 10);
  options.max_iterations = 20;
  options.tolerance      = 0;
  auto const result = polyad::cp_als(space, tensor, options, [](polyad::CpAlsIteration const& iteration) {
    std::printf("iteration %2d: fit %.9f\n", iteration.iteration, iteration.fit);
    return true;  // false would end the run
  });

  std::printf("fit %.9f after %zu iterations; weights", result.fit, result.iterations.size());
  for (double const weight : result.model.weights) std::printf(" %.4g", weight);
  std::printf("\n");
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
