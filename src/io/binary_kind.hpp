// SPDX-License-Identifier: BSD-3-Clause
// Text or one of the binary kinds?
#pragma once

#include <filesystem>
#include <optional>

#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The binary kind of a file; nothing for text. A pipe can be looked at once only, so it holds text.
/// \throws InputError when the file cannot be read
[[nodiscard]] std::optional<Dialect> recognise_binary(std::filesystem::path const& path);

}  // namespace polyad::io
