// SPDX-License-Identifier: BSD-3-Clause
// Refusals of what the user typed, or of a file. Not for sources that nvcc compiles (messages.hpp).
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::cli {

/// \throws UsageError
[[noreturn]] inline void refuse(std::string const& text) {
  throw UsageError(text);
}
template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw UsageError(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// \throws InputError about the whole file
template <class... Arguments>
[[noreturn]] void refuse_file(std::filesystem::path const& file, fmt::format_string<Arguments...> format,
                              Arguments&&... arguments) {
  throw InputError(file.string(), 0, 0, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace polyad::cli
