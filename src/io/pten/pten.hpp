// SPDX-License-Identifier: BSD-3-Clause
// Polyad's own binary file of a sparse tensor (.pten, docs/file-formats.md). It is little-endian and consists
// of blocks, each with a checksum. So it is read and written at the speed of a copy, and damage is always
// detected.
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/streams/raw_input.hpp"
#include "io/text/stretch.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

struct PtenOptions {
  /// Values as float instead of double: rounded.
  bool single_precision = false;
  /// Blocks packed with zstd.
  bool packed = false;
  /// Indices of 64 bits even if 32 suffice.
  bool wide = false;
  /// Nonzeros per block, at most most_block_nonzeros. 2^16 of order 3 are 1.3 MB: they stay in a second-level
  /// cache while they are checked.
  std::uint64_t block_nonzeros = std::uint64_t{1} << 16;
  /// Threads that make blocks; 0: as many as the machine has.
  int threads = 0;
  /// The names of the rows; they fit the extents.
  RowNames names = {};

  static constexpr std::uint64_t most_block_nonzeros = std::uint64_t{1} << 20;
};

/// \throws WriteError, the previous file then stays; UsageError when this build cannot pack
void write_pten(std::filesystem::path const& path, CoordinateList const& tensor,
                PtenOptions const& options = {});

/// \throws InputError for a file that is damaged, cut short, of a later version, or holds an index beyond
///         its extent or, unless allowed, a value that is not finite
/// \param stretch  the part of the file's blocks to read; the heads of all blocks are checked
[[nodiscard]] TensorFile read_pten(RawInput& input, ReadOptions const& options,
                                   FileRange const& stretch = {});
[[nodiscard]] inline TensorFile read_pten(std::filesystem::path const& path,
                                          ReadOptions const& options = {}) {
  RawInput input(path);
  return read_pten(input, options);
}

}  // namespace polyad::io
