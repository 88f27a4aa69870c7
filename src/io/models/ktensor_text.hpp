// SPDX-License-Identifier: BSD-3-Clause
// Kruskal tensors as text in the form that the Tensor Toolbox for MATLAB exports and imports: the word
// "ktensor", the order, the extents, the rank and the weights, each on a separate line. Then for each mode
// the word "matrix", the number 2, the two sizes, and a line for each row. The numbers are the shortest that
// read back to the same double. The Tensor Toolbox counts rows from 1. After everything that other programs
// read, a model whose rows count from 0 has the line "# index_base 0", and one with names the line "# labels
// KEY": its names are in a separate file with this key (io/names/labels_file.hpp). A model with bounds or
// penalties has the line "# constraints", and for each mode a line of lower, upper, l1 and ridge
// (constraint_numbers.hpp). These lines have this order.
#pragma once

#include <filesystem>

#include "io/models/ktensor_blocks.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

/// Names go to a file next to the model, unless the model goes to a pipe, a device or a descriptor of this
/// process: then only the index base is written. \throws WriteError; the previous files then stay
void write_ktensor_text_blocks(std::filesystem::path const& path, KtensorBlocks const& model);
void write_ktensor_text(std::filesystem::path const& path, HostKtensor const& model);

/// \throws InputError naming file, line and column, or if its labels are missing, damaged or foreign
[[nodiscard]] HostKtensor read_ktensor_text(RawInput& input);
[[nodiscard]] inline HostKtensor read_ktensor_text(std::filesystem::path const& path) {
  RawInput input(path);
  return read_ktensor_text(input);
}

}  // namespace polyad::io
