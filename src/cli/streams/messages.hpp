// SPDX-License-Identifier: BSD-3-Clause
// Formatted results and messages. Not for sources that nvcc compiles, because nvcc 13 does not survive fmt's
// checks of formats: they use show_text and say_text.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "cli/report/file_name_format.hpp"
#include "cli/streams/standard_streams.hpp"

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

}  // namespace polyad::cli
