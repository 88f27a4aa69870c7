// SPDX-License-Identifier: BSD-3-Clause
// A table of text, such as CSV (io/delimited/delimited_reader.hpp).
#include "io/delimited/delimited_reader.hpp"
#include "io/dialects/registry.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

constinit DialectDefinition const delimited_dialect = {
    .name      = "delimited",
    .is_text   = true,
    .recognise = [](RawInput& input,
                    ReadOptions const& options) { return find_table(input, options).has_value(); },
    .read =
        [](RawInput& input, ReadOptions const& options, FileRange const&) {
          auto const layout = find_table(input, options);
          if (!layout) throw InputError(input.name(), 0, 0, "has changed while it was read");
          return read_delimited(input, options, *layout);
        }};

constinit Dialect const Dialect::delimited(delimited_dialect);

}  // namespace polyad::io
