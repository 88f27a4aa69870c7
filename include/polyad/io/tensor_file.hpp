// SPDX-License-Identifier: BSD-3-Clause
// Tensor files of every kind. The content decides the kind when reading; the name's ending or an option
// decides it when writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/delimited_text.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// Describes a dialect, and how it is read and written. Only the library's sources know it.
struct DialectDefinition;

/// How a file lays out a tensor: one of dialects().
class Dialect {
public:
  static Dialect const frostt;           // only lines
  static Dialect const extended_frostt;  // "N nnz", the extents, lines
  static Dialect const tensor_toolbox;   // "sptensor", N, the extents, nnz, lines; also GenTen's text
  static Dialect const dims_header;      // N, the extents, lines: ParTI, B-CSF
  static Dialect const matrix_market;    // order 2: real, integer or pattern; general, (skew-)symmetric
  static Dialect const pten;             // docs/file-formats.md
  static Dialect const npz;              // numpy's archive with "coords", "data" and "shape"
  static Dialect const genten_binary;    // "sptn"
  static Dialect const splatt_binary;
  static Dialect const delimited;  // a table of text, such as CSV, whose ids are labels

  constexpr explicit Dialect(DialectDefinition const& definition) noexcept : m_definition(&definition) {}

  /// Such as "matrix-market".
  [[nodiscard]] std::string_view name() const noexcept;
  /// The endings of names that select it when a file is written, such as ".tns"; none if it is written on
  /// request only, or not at all.
  [[nodiscard]] std::span<std::string_view const> endings() const noexcept;
  /// Whether it is text, whose numbers count from 0 or 1. All others are binary and count from 0, though they
  /// may store the base of the text that they were made from.
  [[nodiscard]] bool is_text() const noexcept;
  /// Whether only the indices of such a text show its base.
  [[nodiscard]] bool shows_base_by_indices() const noexcept;
  [[nodiscard]] bool can_write() const noexcept;
  /// Whether files hold the names of modes and rows, or the index base.
  [[nodiscard]] bool holds_names() const noexcept;
  /// Whether files hold floats, if asked to.
  [[nodiscard]] bool holds_floats() const noexcept;
  /// Whether files hold the extents. Otherwise extents are the largest indices.
  [[nodiscard]] bool holds_extents() const noexcept;
  /// Whether files can be packed (WriteOptions::packed).
  [[nodiscard]] bool can_pack() const noexcept;

  [[nodiscard]] DialectDefinition const& definition() const noexcept { return *m_definition; }
  friend bool operator==(Dialect, Dialect) = default;

private:
  DialectDefinition const* m_definition;
};

/// All dialects, in the order in which the documentation lists them.
[[nodiscard]] std::span<Dialect const> dialects() noexcept;

/// How the bytes of a file are compressed.
enum class Compression { none, gzip, xz, zstd };

[[nodiscard]] inline std::string_view to_string(Dialect dialect) noexcept {
  return dialect.name();
}
[[nodiscard]] std::string_view to_string(Compression compression) noexcept;

/// Whether this build has the library that decompresses it.
[[nodiscard]] bool can_unpack(Compression compression) noexcept;

struct ReadOptions {
  /// The number of a mode's first row in the file: 0 or 1. -1 finds it out: by the dialect (Matrix Market:
  /// 1), else 0 if any index is 0, else 1. In memory all indices count from 0.
  int index_base = -1;
  /// The base of text whose dialect does not determine it: that of another file whose rows the text refers
  /// to. Only used if index_base is -1.
  int index_base_of_text = -1;
  /// Accept NaN and infinite values.
  bool allow_non_finite = false;
  /// Leave out nonzeros whose value is 0.
  bool drop_zeros = false;
  /// Parsing threads; 0: as many as the machine has.
  int threads = 0;
  /// Bytes of text that a thread takes at once. 1 MiB of text and its numbers stay in a second-level cache.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// The most memory for reading, in bytes: the mapped file, what is unpacked, the list; unset: what is free.
  std::optional<std::uint64_t> memory_bytes = {};
  /// How to read a table of text. If anything is set, text is taken for a table.
  DelimitedOptions table = {};
};

struct ReadReport {
  Dialect dialect         = Dialect::frostt;
  Compression compression = Compression::none;
  /// The number of the first row of each mode in the file. For a binary file, the base of the text that it
  /// was made from, if the file says it, else 0.
  int index_base = 1;
  /// Whether the file says or shows its base. Only binary files may not.
  bool knows_index_base = true;
  /// The number of values that are 0, whether they are kept or not.
  std::uint64_t zeros = 0;
  /// Lines of text, including comments and empty lines.
  std::uint64_t lines = 0;
  /// Bytes of text after decompression, and bytes of the file on disk.
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
/// content decides. An options.index_base other than the base that a binary file says (0 if it says none) is
/// refused, and so is any base for tables of text, whose ids are labels: integers are numbered in ascending
/// order, texts in the order of their first occurrence.
/// \throws InputError, for text with line and column; MemoryError; UsageError for options out of range
[[nodiscard]] TensorFile read_tensor(std::filesystem::path const& path, ReadOptions const& options = {});

/// The part of a file that one of several processes reads, and the exchange between these processes.
struct FilePart {
  /// This part's number, from 0, and the number of parts.
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
  /// Threads that format; 0: as many as the machine has.
  int threads = 0;
  /// The number of a mode's first row, 0 or 1. Text counts from it, except for Matrix Market, which always
  /// counts from 1; npz and .pten store it. -1: it is not known; text then counts from 1.
  int index_base = -1;
  /// What the rows are called: one for each mode, or none. npz and .pten hold them.
  Labels labels = {};
};

/// The dialect of an ending (Dialect::endings); frostt for a descriptor of this process, such as /dev/stdout.
[[nodiscard]] std::optional<Dialect> dialect_of_ending(std::filesystem::path const& path);

/// The dialect of this name, if it can be written.
[[nodiscard]] std::optional<Dialect> writable_dialect(std::string_view name);

/// The endings that names of tensors can have: ".tns, .txt, .mtx, .pten or .npz".
[[nodiscard]] std::string endings_text();

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
