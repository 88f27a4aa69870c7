// SPDX-License-Identifier: BSD-3-Clause
// Names of files, and words of a command line, in the report and in text for people.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace polyad::cli {

/// A file's name, unchanged, as in the report's JSON. Text shows control characters as \x0A
/// (file_name_format.hpp).
struct FileName {
  std::string name;
  FileName() = default;
  FileName(std::string text) : name(std::move(text)) {}  // NOLINT: a name is a text
};

/// A word of a command line as bash takes it, on one line: quoted if it has to be.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace polyad::cli
