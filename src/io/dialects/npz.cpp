// SPDX-License-Identifier: BSD-3-Clause
// Arrays of numpy in a zip archive (io/archive/tensor_npz.hpp).
#include <array>

#include "io/archive/tensor_npz.hpp"
#include "io/dialects/registry.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
constexpr std::array npz_endings = {".npz"sv};

}  // namespace

constinit DialectDefinition const npz_dialect = {
    .name         = "npz",
    .endings      = npz_endings,
    .holds_names  = true,
    .holds_floats = true,
    .begins       = [](std::string_view start) { return start.starts_with("PK"); },
    .read         = [](RawInput& input, ReadOptions const& options,
                       FileRange const&) { return read_tensor_npz(input, options); },
    .write =
        [](std::filesystem::path const& path, CoordinateList const& tensor, WriteOptions const& options) {
          write_tensor_npz(path, tensor, options.single_precision, {options.index_base, options.labels});
        }};

constinit Dialect const Dialect::npz(npz_dialect);

}  // namespace polyad::io
