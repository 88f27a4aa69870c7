// SPDX-License-Identifier: BSD-3-Clause
// Factors a tensor that a program computes itself, in Kokkos Views of the execution space. Nothing is
// copied to the host:
//   example_own_data
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

using Space  = Kokkos::DefaultExecutionSpace;
using Tensor = polyad::CooTensor<double, std::uint32_t, Space>;

/// Nonzero p of the tensor x(i, j, k) = (i + 1)(j + 1)(k + 1) on a grid of 20 x 30 x 40.
struct FillGrid {
  Tensor::indices_type indices;
  Tensor::values_type values;

  KOKKOS_FUNCTION void operator()(polyad::count_t p) const {
    auto const i  = static_cast<std::uint32_t>(p / 1200);
    auto const j  = static_cast<std::uint32_t>(p / 40 % 30);
    auto const k  = static_cast<std::uint32_t>(p % 40);
    indices(p, 0) = i;
    indices(p, 1) = j;
    indices(p, 2) = k;
    values(p)     = (i + 1.0) * (j + 1.0) * (k + 1.0);
  }
};

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Space const space;
  Tensor::indices_type const indices("indices", 24'000, 3);
  Tensor::values_type const values("values", 24'000);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Space>(space, 0, 24'000), FillGrid{indices, values});

  // The tensor shares the Views. Its constructor checks their shapes.
  Tensor const tensor({20, 30, 40}, indices, values);
  auto const result = polyad::cp_als(space, tensor, {.rank = 1});
  std::printf("fit %.6f at rank 1: the tensor is an outer product\n", result.fit);
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
