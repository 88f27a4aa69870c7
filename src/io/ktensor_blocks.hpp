// SPDX-License-Identifier: BSD-3-Clause
// A CP model whose factors are written in blocks from where they are.
#pragma once

#include <filesystem>
#include <vector>

#include "io/element_blocks.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

struct KtensorBlocks {
  /// lambda, R of them
  std::vector<double> weights;
  /// A^(n), I_n x R
  std::vector<ElementBlocks> factors;
};

/// Refers to the model's factors. \throws UsageError unless its arrays have the sizes that it says
[[nodiscard]] inline KtensorBlocks blocks_of(HostKtensor const& model) {
  expect_consistent(model);
  KtensorBlocks blocks{model.weights, {}};
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    blocks.factors.emplace_back(model.extents[n], model.rank(), model.factors[n]);
  return blocks;
}

/// write_model() of such a model.
void write_model(std::filesystem::path const& path, KtensorBlocks const& model, bool single_precision);

}  // namespace polyad::io
