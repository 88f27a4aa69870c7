// SPDX-License-Identifier: BSD-3-Clause
// Options with their values, as the report lists them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace polyad::cli {

using OptionValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

/// By the options' names, in the order of their declaration.
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

}  // namespace polyad::cli
