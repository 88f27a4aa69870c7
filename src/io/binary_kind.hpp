// SPDX-License-Identifier: BSD-3-Clause
// Text or one of the binary kinds?
#pragma once

#include <filesystem>
#include <optional>

#include "io/streams/raw_input.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The binary kind of a file; nothing for text. Consumes nothing.
[[nodiscard]] std::optional<Dialect> recognise_binary(RawInput const& input);
/// \throws InputError when the file cannot be read
[[nodiscard]] inline std::optional<Dialect> recognise_binary(std::filesystem::path const& path) {
  return recognise_binary(RawInput(path));
}

}  // namespace polyad::io
