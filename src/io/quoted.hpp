// SPDX-License-Identifier: BSD-3-Clause
// The form in which messages show a piece of a file.
#pragma once

#include <string>
#include <string_view>

namespace polyad::io {

/// The text between quotes, unprintable bytes as \xNN, cut after 40 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace polyad::io
