// SPDX-License-Identifier: BSD-3-Clause
// The definition of a dialect. Each is in a file of this folder (registry.hpp lists them).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "io/streams/raw_input.hpp"
#include "io/text/stretch.hpp"
#include "io/text/text_header.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The flags and endings are those that class Dialect describes. One of `begins`, `recognise` and
/// `read_header` recognises a file of this dialect.
struct DialectDefinition {
  std::string_view name;
  std::span<std::string_view const> endings = {};
  bool is_text                              = false;
  bool shows_base_by_indices                = false;
  bool holds_names                          = false;
  bool holds_floats                         = false;
  bool holds_extents                        = true;
  bool can_pack                             = false;

  /// Binary files: whether a file with this beginning (RawInput::peek) is of this dialect.
  bool (*begins)(std::string_view start) = nullptr;

  /// Text that is not coordinate text: whether the file is of this dialect. It can be read from its beginning
  /// afterwards. \throws InputError, such as for damaged packed data
  bool (*recognise)(RawInput& input, ReadOptions const& options) = nullptr;

  /// Coordinate text: its header, or nothing if the text is of another dialect. `lines` is at the beginning
  /// of the text, whose first line is there. If the header is wrong, `fault` is set, and the result has no
  /// meaning. io/text/tns_reader.hpp reads the lines after it.
  std::optional<TextHeader> (*read_header)(LeadingBlocks& lines, std::optional<Fault>& fault) = nullptr;

  /// Reads a file that `begins` or `recognise` knows. \throws as io::read_tensor
  TensorFile (*read)(RawInput& input, ReadOptions const& options, FileRange const& stretch) = nullptr;
  /// Whether `read` can also read a part of a file.
  bool reads_parts = false;

  /// Writes all of the tensor or nothing; nonzeros are within the extents, and names fit them. Unset if the
  /// dialect can only be read. \throws as io::write_tensor
  void (*write)(std::filesystem::path const& path, CoordinateList const& tensor,
                WriteOptions const& options) = nullptr;
};

}  // namespace polyad::io
