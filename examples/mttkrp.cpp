// SPDX-License-Identifier: BSD-3-Clause
// Multiplies by hand: one MTTKRP of each mode, with a workspace that is made once, as a method of your own
// would do it:
//   example_mttkrp
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  polyad::count_t const R = 16;
  auto const tensor       = polyad::uniform_tensor<double, std::uint32_t>(space, {200, 300, 400}, 100'000, 0);
  auto const X            = polyad::any_format(space, tensor, {.rank = R});
  auto workspace          = X.make_workspace(space, R);

  polyad::FactorMatrices<double, Space> A(space, X.extents(), R);
  polyad::fill_random(space, A, 0);
  for (int mode = 0; mode < X.extents().order(); ++mode) {
    auto const V = polyad::make_factor_matrix<double>(space, "V", X.extents()[mode], R);
    polyad::mttkrp(space, X, A, mode, workspace, V);  // does not wait; to_host does
    double sum = 0;
    for (double const entry : polyad::to_host(space, V)) sum += entry;  // row-major, without padding
    std::printf("mode %d: V is %zu x %zu, its entries sum to %.6g\n", mode, V.extent(0), V.extent(1), sum);
  }
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
