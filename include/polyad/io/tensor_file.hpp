// SPDX-License-Identifier: BSD-3-Clause
// Tensor files of every kind. The content decides the kind when reading; the name's ending or an option
// decides it when writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/delimited_text.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// How a file lays out a tensor. The last five are not coordinate text.
enum class Dialect {
  frostt,           // lines alone
  extended_frostt,  // "N nnz", the extents, lines
  tensor_toolbox,   // "sptensor", N, the extents, nnz, lines; also GenTen's text
  dims_header,      // N, the extents, lines: ParTI, B-CSF
  matrix_market,    // order 2: real, integer or pattern; general, symmetric or skew-symmetric
  pten,             // docs/file-formats.md
  npz,              // numpy's archive with "coords", "data" and "shape"
  genten_binary,    // "sptn"
  splatt_binary,
  delimited  // a table of text, such as CSV, whose ids are labels (io/delimited_text.hpp)
};

/// How the bytes of a file are compressed.
enum class Compression { none, gzip, xz, zstd };

[[nodiscard]] std::string_view to_string(Dialect dialect) noexcept;
[[nodiscard]] std::string_view to_string(Compression compression) noexcept;

/// Whether this build has the library that decompresses it.
[[nodiscard]] bool can_unpack(Compression compression) noexcept;

struct ReadOptions {
  /// The number of a mode's first row in the file: 0 or 1. -1 finds it out: by the dialect (Matrix Market:
  /// 1), else 0 if any index is 0, else 1. In memory all indices count from 0.
  int index_base = -1;
  /// The same for text alone, unless its dialect says what it is: the base of another file whose rows the
  /// text refers to. Only used if index_base is -1.
  int index_base_of_text = -1;
  /// Accept NaN and infinite values.
  bool allow_non_finite = false;
  /// Leave out nonzeros whose value is 0.
  bool drop_zeros = false;
  /// Parsing threads; 0 takes as many as the machine has.
  int threads = 0;
  /// Bytes of text that a thread takes at once. 1 MiB of text and its numbers stay in a second-level cache.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Most memory for reading, in bytes: the mapped file, what is unpacked, the list; unset: what is free.
  std::optional<std::uint64_t> memory_bytes = {};
  /// How to read a table of text. If anything is set, text is taken for a table.
  DelimitedOptions table = {};
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
  std::uint64_t text_bytes = 0, file_bytes = 0;
  double seconds = 0;
  /// What was found in a table of text; rows count from 0 there.
  std::optional<DelimitedReport> table = {};
  /// Whether all values of coordinate text look like times in seconds or milliseconds since 1970.
  bool values_look_like_times = false;
};

struct TensorFile {
  CoordinateList tensor;
  ReadReport report;
  /// The names of the modes and the labels of their rows; empty if nothing is named. If a file is read in
  /// parts, the first part has the labels.
  Labels labels = {};
};

/// Reads text of any dialect, plain or compressed, .pten, npz and the binary files of GenTen and SPLATT: the
/// content decides. Binary kinds count from 0; an options.index_base of 1 is refused for them, and any for
/// tables of text, whose ids are labels: integers are numbered in ascending order, texts as they come first.
/// \throws InputError, for text with line and column; MemoryError; UsageError for options out of range
[[nodiscard]] TensorFile read_tensor(std::filesystem::path const& path, ReadOptions const& options = {});

/// The part of a file that one of several processes reads, and the exchange between these processes.
struct FilePart {
  /// From 0.
  int part = 0, parts = 1;
  /// Gathers the numbers of all parts, in the order of parts; each part passes equally many. All parts call
  /// it together. A single part needs no such function.
  std::function<std::vector<std::vector<std::uint64_t>>(std::vector<std::uint64_t> const&)> share = {};
};

/// This part's nonzeros, with the extents and the report of the whole file. All parts in order make up the
/// file. Plain text is cut at line ends, .pten between blocks; of other files the first part gets everything.
/// All parts throw alike: what the first part that has a fault throws.
/// \throws what read_tensor throws; InputError when the parts do not see the same file
[[nodiscard]] TensorFile read_tensor_part(std::filesystem::path const& path, ReadOptions const& options,
                                          FilePart const& part);

struct WriteOptions {
  /// One of writable_dialect(); unset: by the ending of the name.
  std::optional<Dialect> dialect = {};
  /// Values as float, rounded; .pten and npz only. A value that would become infinite or zero is refused.
  bool single_precision = false;
  /// .pten compressed with zstd.
  bool packed = false;
  /// Threads that format; 0 takes as many as the machine has.
  int threads = 0;
  /// The number of a mode's first row in text, 0 or 1. Matrix Market always counts from 1.
  int index_base = 1;
  /// What the rows are called: one for each mode, or none. npz holds them.
  Labels labels = {};
};

/// The dialect that an ending stands for: .tns, .txt frostt; .mtx matrix-market; .pten; .npz. A descriptor of
/// this process, such as /dev/stdout: frostt.
[[nodiscard]] std::optional<Dialect> dialect_of_ending(std::filesystem::path const& path);

/// The dialect called `name` (to_string), if it can be written: all but the binaries of others.
[[nodiscard]] std::optional<Dialect> writable_dialect(std::string_view name);

/// \throws UsageError naming the first value that is finite and not zero, but would be infinite or zero as a
///         float
void expect_fits_floats(CoordinateList const& tensor);

/// Writes all of the tensor or nothing. Reading it back gives the same bits, except for values rounded on
/// request. Dialects without a header also lose extents beyond the largest index.
/// \throws WriteError, the previous file then stays; UsageError for an unknown ending without a dialect, the
///         two foreign binaries, a tensor without nonzeros, matrix_market unless N = 2, single_precision of
///         text or of a value that does not fit a float, packed in a build without zstd, or an extent of 2^63
///         or more in npz
void write_tensor(std::filesystem::path const& path, CoordinateList const& tensor,
                  WriteOptions const& options = {});

}  // namespace polyad::io
