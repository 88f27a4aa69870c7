// SPDX-License-Identifier: BSD-3-Clause
// Writes a FastTucker model whose factors are read block by block, for example from a device.
#pragma once

#include <filesystem>
#include <vector>

#include "io/memory/element_blocks.hpp"
#include "polyad/io/fast_tucker_file.hpp"

namespace polyad::io {

/// write_fast_tucker() for `model`, whose own factors are not used: `factors` has A^(n) of each mode.
void write_fast_tucker(std::filesystem::path const& path, HostFastTucker const& model,
                       std::vector<ElementBlocks> const& factors, bool single_precision);

}  // namespace polyad::io
