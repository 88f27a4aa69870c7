// SPDX-License-Identifier: BSD-3-Clause
// The one list of dialects. A new one is a file in this folder, which defines NAME_dialect, and a line here.
#pragma once

#include <optional>

#include "io/dialects/definition.hpp"

/// In the order of docs/file-formats.md. Text is tried from the last one to the first, which accepts any
/// text.
// clang-format off
#define POLYAD_DIALECTS(X) \
  X(frostt) \
  X(extended_frostt) \
  X(tensor_toolbox) \
  X(dims_header) \
  X(matrix_market) \
  X(pten) \
  X(npz) \
  X(genten_binary) \
  X(splatt_binary) \
  X(delimited)
// clang-format on

namespace polyad::io {

#define POLYAD_DECLARE_DIALECT(name) extern DialectDefinition const name##_dialect;
POLYAD_DIALECTS(POLYAD_DECLARE_DIALECT)
#undef POLYAD_DECLARE_DIALECT

/// The dialect of a file, unless it is coordinate text. The file can be read from its beginning afterwards.
/// \throws InputError, such as for damaged packed data; UsageError if options do not fit a table of text
[[nodiscard]] std::optional<Dialect> recognise_dialect(RawInput& input, ReadOptions const& options);

/// Refuses options that do not go with files of this dialect. \throws UsageError
void expect_options_fit(RawInput const& input, Dialect dialect, ReadOptions const& options);

/// Refuses an index base that the user requested and a binary file contradicts. \throws UsageError
void expect_base_fits(RawInput const& input, ReadReport const& report, ReadOptions const& options);

}  // namespace polyad::io
