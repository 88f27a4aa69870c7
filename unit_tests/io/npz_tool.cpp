// SPDX-License-Identifier: BSD-3-Clause
// For check_npz.py: `npz_tool write FILE [f32] [zip64]` writes a model that the script knows;
// `npz_tool sum FILE` reads a model and prints its extents, rank and the sum of all numbers. `npz_tool tensor
// FILE` reads a tensor and prints its extents and nonzeros; `npz_tool array FILE NAME` prints a 3-way
// array; `npz_tool copy IN OUT [f32]` writes it again.
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "io/archive/npz.hpp"
#include "io/archive/tensor_npz.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"

int main(int count, char** texts) try {
  std::vector<std::string> const arguments(texts + 1, texts + count);
  if (arguments.size() < 2) return 2;
  if (arguments[0] == "write") {
    polyad::io::NpzOptions options;
    for (std::string const& argument : arguments) {
      options.single_precision |= argument == "f32";
      options.force_zip64 |= argument == "zip64";
    }
    polyad::io::HostKtensor model{{1, 0.5}, {4, 3}, {std::vector<double>(8), std::vector<double>(6)}};
    for (std::size_t k = 0; k < 8; ++k) model.factors[0][k] = 0.1 * static_cast<double>(k);
    for (std::size_t k = 0; k < 6; ++k) model.factors[1][k] = -1e10 / static_cast<double>(k + 3);
    polyad::io::write_npz(arguments[1], model, options);
  } else if (arguments[0] == "copy") {
    polyad::io::write_tensor_npz(arguments.at(2), polyad::io::read_tensor_npz(arguments[1]).tensor,
                                 arguments.back() == "f32");
  } else if (arguments[0] == "array") {
    for (double const x : polyad::io::read_array_npz(arguments.at(1), arguments.at(2), 3).elements)
      std::printf("%.17g ", x);
    std::printf("\n");
  } else if (arguments[0] == "tensor") {
    auto const tensor = polyad::io::read_tensor_npz(arguments[1]).tensor;
    for (auto const extent : tensor.extents) std::printf("%llu ", static_cast<unsigned long long>(extent));
    std::visit(
        [&](auto const& indices) {
          for (std::size_t p = 0; p < tensor.values.size(); ++p) {
            std::printf(":");
            for (std::size_t n = 0; n < tensor.extents.size(); ++n)
              std::printf(" %llu", static_cast<unsigned long long>(indices[p * tensor.extents.size() + n]));
            std::printf(" %.17g ", tensor.values[p]);
          }
        },
        tensor.indices);
    std::printf("\n");
  } else {
    auto const model = polyad::io::read_npz(arguments[1]);
    double sum       = std::accumulate(model.weights.begin(), model.weights.end(), 0.0);
    for (auto const& factor : model.factors)
      for (std::size_t k = 0; k < factor.size(); ++k) sum += factor[k] * static_cast<double>(k + 1);
    for (auto const extent : model.extents) std::printf("%llu ", static_cast<unsigned long long>(extent));
    std::printf("%llu %.17g\n", static_cast<unsigned long long>(model.rank()), sum);
  }
  return 0;
} catch (polyad::Error const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return static_cast<int>(error.exit_code());
}
