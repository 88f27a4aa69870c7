// SPDX-License-Identifier: BSD-3-Clause
// What a dialect is. A file of this folder defines each (registry.hpp lists them).
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

/// The flags and endings are what class Dialect says of them. One of `begins`, `recognise` and `read_header`
/// recognises a file of this dialect.
struct DialectDefinition {
  std::string_view name;
  std::span<std::string_view const> endings = {};
  bool is_text                              = false;
  bool shows_base_by_indices                = false;
  bool holds_names                          = false;
  bool holds_floats                         = false;
  bool holds_extents                        = true;
  bool can_pack                             = false;

  /// Binary files: whether a file that begins so (RawInput::peek) is of this dialect.
  bool (*begins)(std::string_view start) = nullptr;

  /// Text that is not coordinate text: whether the file is of this dialect. It can be read from its beginning
  /// afterwards. \throws InputError, such as for damaged packed data
  bool (*recognise)(RawInput& input, ReadOptions const& options) = nullptr;

  /// Coordinate text: its header, or nothing if the text is of another dialect. `lines` is at the beginning
  /// of the text, whose first line is there. If the header is wrong, `fault` is set, and the result has no
  /// meaning. io/text/tns_reader.hpp reads the lines after it.
  std::optional<TextHeader> (*read_header)(LeadingBlocks& lines, std::optional<Fault>& fault) = nullptr;

  /// Reads a file that `begins` or `recognise` knows. \throws as io::read_tensor
  TensorFile (*read)(RawInput& input, ReadOptions const& options, Stretch const& stretch) = nullptr;
  /// Whether `read` takes a part of a file as well as all of it.
  bool reads_parts = false;

  /// Writes all of the tensor or nothing; nonzeros are inside the extents, and names fit them. Unset if the
  /// dialect is read only. \throws as io::write_tensor
  void (*write)(std::filesystem::path const& path, CoordinateList const& tensor,
                WriteOptions const& options) = nullptr;
};

}  // namespace polyad::io
