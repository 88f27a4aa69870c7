// SPDX-License-Identifier: BSD-3-Clause
// Reads coordinate text (.tns): one nonzero a line, N indices and then the value, separated by blanks or
// tabs, with or without one of the headers that are in use (enum Dialect). Lines that are empty or begin
// with #, % or // are passed over; CRLF line ends, a byte order mark and a missing last line end are fine.
// The text may be plain or compressed with xz, gzip or zstd. Dialect and compression are told by the content
// and not by the name. The extents are those declared, or the largest index of each mode.
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

/// How a file lays out a tensor. The last four are no text: io/tensor_file.hpp reads them.
enum class Dialect {
  frostt,           // lines alone
  extended_frostt,  // "N nnz", the extents, lines
  tensor_toolbox,   // "sptensor", N, the extents, nnz, lines; also GenTen's text
  dims_header,      // N, the extents, lines: ParTI, B-CSF
  matrix_market,    // order 2: real, integer or pattern; general, symmetric or skew-symmetric
  pten,             // docs/file-formats.md
  npz,              // numpy's archive with "coords", "data" and "shape"
  genten_binary,    // "sptn"
  splatt_binary
};

/// How the bytes of a file are packed.
enum class Compression { none, gzip, xz, zstd };

[[nodiscard]] std::string_view to_string(Dialect dialect) noexcept;
[[nodiscard]] std::string_view to_string(Compression compression) noexcept;

/// Whether this build has the library for it.
[[nodiscard]] bool can_unpack(Compression compression) noexcept;

struct ReadOptions {
  /// 0 or 1: what the first index of a mode is called; -1 finds it: what the dialect says (Matrix Market: 1),
  /// else 0 if any index is 0, else 1.
  int index_base = -1;
  /// Accept NaN and infinite values.
  bool allow_non_finite = false;
  /// Leave out nonzeros whose value is 0.
  bool drop_zeros = false;
  /// Parsing threads; 0 takes as many as the machine has.
  int threads = 0;
  /// Bytes of text that a thread takes at once. 1 MiB of text and its numbers stay in a second-level cache.
  std::size_t chunk_bytes = std::size_t{1} << 20;
};

struct ReadReport {
  Dialect dialect         = Dialect::frostt;
  Compression compression = Compression::none;
  int index_base          = 1;
  /// Values that are 0, kept or not.
  std::uint64_t zeros = 0;
  /// Lines of text, comments and empty ones included.
  std::uint64_t lines = 0;
  /// Bytes of text after decompression, and of the file as it lies on disk.
  std::uint64_t text_bytes = 0;
  std::uint64_t file_bytes = 0;
  double seconds           = 0;
};

struct TensorFile {
  CoordinateList tensor;
  ReadReport report;
};

/// \throws InputError naming file, line and column of the first fault; UsageError for options out of range
[[nodiscard]] TensorFile read_tns(std::filesystem::path const& path, ReadOptions const& options = {});

}  // namespace polyad::io
