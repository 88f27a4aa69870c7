// SPDX-License-Identifier: BSD-3-Clause
// A user's program: its own kernel fills a tensor of rank one, and CP-ALS finds it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <polyad/io/tensor_file.hpp>
#include <polyad/polyad.hpp>

#if defined(__CUDACC__) && !defined(MDSPAN_IMPL_USE_ATTRIBUTE_NO_UNIQUE_ADDRESS) && KOKKOS_VERSION < 50000
#error "the exported target does not repair mdspan's layout"
#endif

namespace {

using Space  = Kokkos::DefaultExecutionSpace;
using Tensor = polyad::CooTensor<double, std::uint32_t, Space>;

constexpr int rows = 5;

// x(i, j, k) = (1 + i)(1 + j)(1 + k), every entry stored.
struct Fill {
  Tensor::indices_type indices;
  Tensor::values_type values;
  KOKKOS_FUNCTION void operator()(int const p) const {
    int const subscripts[3] = {p / (rows * rows), p / rows % rows, p % rows};
    double value            = 1;
    for (int n = 0; n < 3; ++n) {
      indices(p, n) = static_cast<std::uint32_t>(subscripts[n]);
      value *= 1 + subscripts[n];
    }
    values(p) = value;
  }
};

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Space const space;
  auto const tensor = polyad::make_coo_tensor<double, std::uint32_t>(space, polyad::Extents{rows, rows, rows},
                                                                     rows * rows * rows);
  Kokkos::parallel_for("outside::fill", Kokkos::RangePolicy<Space>(space, 0, rows * rows * rows),
                       Fill{tensor.indices(), tensor.values()});
  auto const format = polyad::any_format(space, tensor, {.rank = 1, .format = "coo-permuted"});
  polyad::CpAlsOptions options;
  options.rank      = 1;
  auto const result = polyad::cp_als(space, format, options);
  std::printf("Polyad %s: fit %.9f\n", POLYAD_VERSION, result.fit);
  // Also links what reads files, with the compression libraries that it needs.
  bool const unpacks = polyad::io::can_unpack(polyad::io::Compression::none);
  // Rounding of the norms alone limits the fit: sqrt(epsilon) of cancelled squares.
  return std::abs(result.fit - 1) < 1e-6 && unpacks ? 0 : 1;
}
