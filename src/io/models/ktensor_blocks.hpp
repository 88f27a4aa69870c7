// SPDX-License-Identifier: BSD-3-Clause
// A CP model whose factors are written in blocks from where they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/memory/element_blocks.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

struct KtensorBlocks {
  /// lambda, R of them
  std::vector<double> weights;
  /// I_0, ..., I_{N-1}
  std::vector<std::uint64_t> extents;
  /// A^(n), I_n x R; for a mode with a list of rows, one row for each of them
  std::vector<ElementBlocks> factors;
  /// The rows that are stored: one for each mode, or empty if all rows are stored.
  std::vector<StoredRows> rows;
  RowNames names                       = {};
  std::vector<Constraints> constraints = {};  // as of HostKtensor
};

/// Refers to the model's factors. \throws UsageError unless its arrays have the sizes that the model says
[[nodiscard]] inline KtensorBlocks blocks_of(HostKtensor const& model) {
  expect_consistent(model);
  KtensorBlocks blocks{model.weights, model.extents, {}, model.rows, model.names, model.constraints};
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    blocks.factors.emplace_back(stored_rows(model.rows, n, model.extents[n]), model.rank(), model.factors[n]);
  return blocks;
}

/// write_model() of such a model.
void write_model_blocks(std::filesystem::path const& path, KtensorBlocks const& model, bool single_precision);

}  // namespace polyad::io
