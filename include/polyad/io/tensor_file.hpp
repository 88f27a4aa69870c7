// SPDX-License-Identifier: BSD-3-Clause
// Tensor files of every kind: read by the content, written by the ending of the name or as asked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "polyad/io/tns_reader.hpp"

namespace polyad::io {

/// Reads text of any dialect, plain or compressed (io/tns_reader.hpp), .pten (io/pten.hpp), npz
/// (io/tensor_npz.hpp) and the binary files of GenTen and SPLATT, told by the content.
/// Binary kinds count from 0; options.index_base other than 0 and -1 is refused for them.
/// \throws InputError, for text with line and column; UsageError for options out of range
[[nodiscard]] TensorFile read_tensor(std::filesystem::path const& path, ReadOptions const& options = {});

struct WriteOptions {
  /// One of writable_dialect(); unset: by the ending of the name.
  std::optional<Dialect> dialect = {};
  /// Values as float, rounded; .pten and npz only.
  bool single_precision = false;
  /// .pten packed with zstd.
  bool packed = false;
  /// Threads that format; 0 takes as many as the machine has.
  int threads = 0;
};

/// The dialect that an ending stands for: .tns, .txt frostt; .mtx matrix-market; .pten; .npz.
[[nodiscard]] std::optional<Dialect> dialect_of_ending(std::filesystem::path const& path);

/// The dialect called `name` (to_string), if it can be written: all but the binaries of others.
[[nodiscard]] std::optional<Dialect> writable_dialect(std::string_view name);

/// Writes all of the tensor or nothing; what is read back is the same to the last bit, but for extents beyond
/// the largest index in dialects without a header, and for values rounded as asked.
/// \throws WriteError, the previous file then stays; UsageError when the dialect cannot hold the tensor
void write_tensor(std::filesystem::path const& path, CoordinateList const& tensor,
                  WriteOptions const& options = {});

}  // namespace polyad::io
