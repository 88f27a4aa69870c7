// SPDX-License-Identifier: BSD-3-Clause
// Writes a checkpoint of CP-ALS whose factors are read in blocks from where they are.
#pragma once

#include <filesystem>
#include <vector>

#include "io/element_blocks.hpp"
#include "polyad/io/checkpoint.hpp"

namespace polyad::io {

/// write_checkpoint() of `checkpoint`, whose own factors are not read: `factors` has A^(n) of each mode.
void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint,
                      std::vector<ElementBlocks> const& factors);

}  // namespace polyad::io
