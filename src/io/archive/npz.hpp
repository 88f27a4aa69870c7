// SPDX-License-Identifier: BSD-3-Clause
// Kruskal tensors as .npz, the archive of arrays that numpy.load and numpy.savez know: "weights" of shape
// (R,) and "factor_0", "factor_1", ... of shape (I_n, R). If a model stores only some rows of a mode,
// "rows_n" lists them, and "extents" has the sizes of all modes.
#pragma once

#include <filesystem>

#include "io/models/ktensor_blocks.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

struct NpzOptions {
  /// float instead of double: half the bytes, rounded. An array with a number that floats cannot hold stays
  /// double.
  bool single_precision = false;
  /// Use the 64-bit form of the archive even if 32 bits suffice. Otherwise it is used only when needed.
  bool force_zip64 = false;
};

/// Stored without compression. \throws WriteError; the previous file then stays
void write_npz_blocks(std::filesystem::path const& path, KtensorBlocks const& model,
                      NpzOptions const& options = {});
void write_npz(std::filesystem::path const& path, HostKtensor const& model, NpzOptions const& options = {});

/// Reads float and double, row-major and column-major, stored and (with zlib) deflated arrays.
/// \throws InputError
[[nodiscard]] HostKtensor read_npz(RawInput& input);
[[nodiscard]] inline HostKtensor read_npz(std::filesystem::path const& path) {
  RawInput input(path);
  return read_npz(input);
}

}  // namespace polyad::io
