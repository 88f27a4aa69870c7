// SPDX-License-Identifier: BSD-3-Clause
// Reads the coordinate text of FROSTT (.tns): one nonzero a line, N indices and then the value, separated
// by blanks or tabs. Lines that are empty or begin with # are passed over; CRLF line ends and a missing last
// line end are fine. The text may be plain or compressed with xz, gzip or zstd, which is told by the content
// and not by the name. The extents are the largest index of each mode.
//
// The file is cut into chunks at line ends and parsed by several threads. Neither the result nor the error
// depends on the number of threads or on the size of the chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// How a text lays out its header and lines.
enum class Dialect { frostt };

/// How the bytes of a file are packed.
enum class Compression { none, gzip, xz, zstd };

[[nodiscard]] std::string_view to_string(Dialect dialect) noexcept;
[[nodiscard]] std::string_view to_string(Compression compression) noexcept;

/// Whether this build has the library for it.
[[nodiscard]] bool can_unpack(Compression compression) noexcept;

struct ReadOptions {
  /// 0 or 1: what the first index of a mode is called; -1 finds it: any index 0 means 0, else 1.
  int index_base = -1;
  /// Accept NaN and infinite values.
  bool allow_non_finite = false;
  /// Parsing threads; 0 takes as many as the machine has.
  int threads = 0;
  /// Bytes of text that a thread takes at once. 1 MiB of text and its numbers stay in a second-level cache.
  std::size_t chunk_bytes = std::size_t{1} << 20;
};

struct ReadReport {
  Dialect dialect         = Dialect::frostt;
  Compression compression = Compression::none;
  int index_base          = 1;
  /// Lines of text, comments and empty ones included.
  std::uint64_t lines = 0;
  /// Bytes of text after decompression, and of the file as it lies on disk.
  std::uint64_t text_bytes = 0;
  std::uint64_t file_bytes = 0;
  double seconds           = 0;
};

struct TnsFile {
  CoordinateList tensor;
  ReadReport report;
};

/// \throws InputError naming file, line and column of the first fault; UsageError for options out of range
[[nodiscard]] TnsFile read_tns(std::filesystem::path const& path, ReadOptions const& options = {});

}  // namespace polyad::io
