// SPDX-License-Identifier: BSD-3-Clause
// Polyad's own binary file of a tensor (io/pten/pten.hpp).
#include <array>

#include "io/dialects/registry.hpp"
#include "io/pten/pten.hpp"
#include "io/pten/pten_format.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
constexpr std::array pten_endings = {".pten"sv};

}  // namespace

constinit DialectDefinition const pten_dialect = {
    .name         = "pten",
    .endings      = pten_endings,
    .holds_names  = true,
    .holds_floats = true,
    .can_pack     = true,
    .begins       = [](std::string_view start) { return start.starts_with(pten::magic); },
    .read         = [](RawInput& input, ReadOptions const& options,
                       FileRange const& stretch) { return read_pten(input, options, stretch); },
    .reads_parts  = true,
    .write =
        [](std::filesystem::path const& path, CoordinateList const& tensor, WriteOptions const& options) {
          write_pten(path, tensor,
                     {.single_precision = options.single_precision,
                      .packed           = options.packed,
                      .threads          = options.threads,
                      .names            = {options.index_base, options.labels}});
        }};

constinit Dialect const Dialect::pten(pten_dialect);

}  // namespace polyad::io
