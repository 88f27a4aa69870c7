// SPDX-License-Identifier: BSD-3-Clause
// The binary file of GenTen (io/foreign/foreign_binary.hpp).
#include "io/dialects/registry.hpp"
#include "io/foreign/foreign_binary.hpp"

namespace polyad::io {

constinit DialectDefinition const genten_binary_dialect = {
    .name   = "genten-binary",
    .begins = begins_genten_binary,
    .read   = [](RawInput& input, ReadOptions const& options, FileRange const&) {
      return read_genten_binary(input, options);
    }};

constinit Dialect const Dialect::genten_binary(genten_binary_dialect);

}  // namespace polyad::io
