// SPDX-License-Identifier: BSD-3-Clause
// Reads coordinate text (.tns): one nonzero a line, N indices and then the value, separated by blanks or
// tabs. The headers in use (io/dialects) are optional. Empty lines and lines that begin with #, % or // are
// skipped. CRLF line ends, a byte order mark and a missing last line end are allowed. The text may be plain
// or compressed with xz, gzip or zstd. The content decides dialect and compression, not the name. The extents
// are those declared, or the largest index of each mode.
//
// The file is cut into chunks at line ends and parsed by several threads. Neither the result nor the error
// depends on the number of threads or on the size of the chunks.
#pragma once

#include <filesystem>

#include "io/streams/raw_input.hpp"
#include "io/text/stretch.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// \param stretch  the part of the lines to read; packed text and pipes are only read as a whole
/// \throws InputError naming file, line and column of the first fault; UsageError for options out of range
[[nodiscard]] TensorFile read_tns(RawInput& input, ReadOptions const& options, FileRange const& stretch = {});
[[nodiscard]] inline TensorFile read_tns(std::filesystem::path const& path, ReadOptions const& options = {}) {
  RawInput input(path);
  return read_tns(input, options);
}

}  // namespace polyad::io
