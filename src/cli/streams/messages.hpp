// SPDX-License-Identifier: BSD-3-Clause
// Formatted results, messages, and refusals of what the user typed, or of a file. Not for sources that nvcc
// compiles, because nvcc 13 does not survive fmt's checks of formats: they use show_text and say_text.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "cli/report/file_name.hpp"
#include "cli/streams/standard_streams.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"

/// Names of files.
template <>
struct fmt::formatter<polyad::cli::FileName> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(polyad::cli::FileName const& file, Context& context) const {
    return fmt::formatter<std::string_view>::format(polyad::printable(file.name), context);
  }
};

namespace polyad::cli {

/// A part of the results.
template <class... Arguments>
void show(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  show_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// A message.
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  say_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}

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
