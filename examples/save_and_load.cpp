// SPDX-License-Identifier: BSD-3-Clause
// Saves a model for numpy, loads it again and starts a second run from it:
//   example_save_and_load
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  auto const tensor = polyad::uniform_tensor<double, std::uint32_t>(space, {30, 20, 10}, 2'000, 0);

  auto const first = polyad::cp_als(space, tensor, {.rank = 5, .max_iterations = 3, .tolerance = 0});
  polyad::save(space, first.model, "model.npz");

  auto const model  = polyad::load_ktensor<double>(space, "model.npz");
  auto const second = polyad::cp_als(space, tensor, {.tolerance = 1e-6}, model.factors);
  std::printf("fit %.4f after %zu iterations, %.6f after %zu more\n", first.fit, first.history.size(),
              second.fit, second.history.size());
  return second.fit > first.fit ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
