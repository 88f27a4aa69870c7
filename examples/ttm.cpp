// SPDX-License-Identifier: BSD-3-Clause
// Shortens one mode of a sparse tensor: SpTTM multiplies it by a matrix, and the product is dense in that
// mode:
//   example_ttm
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  auto const X = polyad::uniform_tensor<double, std::uint32_t>(space, {50, 60, 70}, 30'000, 0);
  auto const U = polyad::make_factor_matrix<double>(space, "U", 70, 4);
  Kokkos::deep_copy(space, U, 1.0);

  auto const Y = polyad::spttm(space, X, U, 2);
  std::printf("%llu nonzeros become %llu rows of 4\n", static_cast<unsigned long long>(X.nnz()),
              static_cast<unsigned long long>(Y.rows()));
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
