// SPDX-License-Identifier: BSD-3-Clause
// Computes a Tucker decomposition from two starts: random factors and leading singular vectors:
//   example_tucker
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  auto const planted = polyad::planted_tensor<double, std::uint32_t>(space, {50, 40, 30}, 3, 6, 2);

  polyad::TuckerOptions const options{.ranks = {3, 3, 3}};
  auto const random = polyad::tucker(space, planted.tensor, options);
  auto const hosvd  = polyad::tucker(space, planted.tensor, options,
                                     polyad::hosvd_tucker_start(space, planted.tensor, options));
  std::printf("random start: fit %.6f after %zu iterations\n", random.fit, random.history.size());
  std::printf("HOSVD start:  fit %.6f after %zu iterations\n", hosvd.fit, hosvd.history.size());
  return hosvd.fit > 0.999 ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
