// SPDX-License-Identifier: BSD-3-Clause
// Reads a table of text, such as CSV (docs/file-formats.md). The text is cut into blocks of whole records,
// which several threads parse. Each thread numbers the labels that it meets; at the end these numbers become
// rows. Neither the result nor the error depends on the number of threads or on the size of the blocks.
#pragma once

#include <optional>

#include "io/delimited/table_layout.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The layout of text that is a table, by its first lines; nothing for other text. The input can be read from
/// its beginning afterwards.
/// \throws InputError, such as for damaged packed data; UsageError if the options do not fit the table
[[nodiscard]] std::optional<TableLayout> find_table(RawInput& input, ReadOptions const& options);

/// \throws InputError naming file, line and column of the first fault; MemoryError; UsageError for an index
///         base
[[nodiscard]] TensorFile read_delimited(RawInput& input, ReadOptions const& options,
                                        TableLayout const& layout);

}  // namespace polyad::io
