// SPDX-License-Identifier: BSD-3-Clause
// The binary file of SPLATT (io/foreign/foreign_binary.hpp).
#include "io/dialects/registry.hpp"
#include "io/foreign/foreign_binary.hpp"

namespace polyad::io {

constinit DialectDefinition const splatt_binary_dialect = {
    .name   = "splatt-binary",
    .begins = begins_splatt_binary,
    .read   = [](RawInput& input, ReadOptions const& options, FileRange const&) {
      return read_splatt_binary(input, options);
    }};

constinit Dialect const Dialect::splatt_binary(splatt_binary_dialect);

}  // namespace polyad::io
