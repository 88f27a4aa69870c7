// SPDX-License-Identifier: BSD-3-Clause
// Kruskal tensors as text in the form that the Tensor Toolbox for MATLAB exports and imports: the word
// "ktensor", the order, the extents, the rank and the weights, a line each. Then for each mode the word
// "matrix", the number 2, the two sizes, and a line for each row. The numbers are the shortest that read
// back to the same double. The Tensor Toolbox counts rows from 1. A model whose rows count from 0 ends with
// the line "# index_base 0", after everything that other programs read. So does one with bounds or penalties:
// the line "# constraints", and for each mode a line of lower, upper, l1 and ridge (constraint_numbers.hpp).
#pragma once

#include <filesystem>

#include "io/ktensor_blocks.hpp"
#include "io/raw_input.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

/// \throws WriteError; the previous file then stays
void write_ktensor_text_blocks(std::filesystem::path const& path, KtensorBlocks const& model);
void write_ktensor_text(std::filesystem::path const& path, HostKtensor const& model);

/// \throws InputError naming file, line and column
[[nodiscard]] HostKtensor read_ktensor_text(RawInput& input);
[[nodiscard]] inline HostKtensor read_ktensor_text(std::filesystem::path const& path) {
  RawInput input(path);
  return read_ktensor_text(input);
}

}  // namespace polyad::io
