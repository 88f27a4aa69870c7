// SPDX-License-Identifier: BSD-3-Clause
// Lets fmt print names of files. Not for sources that nvcc compiles.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "cli/report/file_name.hpp"
#include "polyad/core/printable.hpp"

template <>
struct fmt::formatter<polyad::cli::FileName> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(polyad::cli::FileName const& file, Context& context) const {
    return fmt::formatter<std::string_view>::format(polyad::printable(file.name), context);
  }
};
