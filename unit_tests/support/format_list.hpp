// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "polyad/formats/capability.hpp"

namespace polyad::test {

/// The names of the formats that offer all of `needs`, one by one.
inline std::vector<std::string> list_of_formats(std::vector<Capability> const& needs = {}) {
  std::vector<std::string> list;
  std::string const names = format_names(needs);
  for (std::size_t begin = 0; begin < names.size();) {
    std::size_t const end = std::min(names.find(", ", begin), names.size());
    list.push_back(names.substr(begin, end - begin));
    begin = end + 2;
  }
  return list;
}

}  // namespace polyad::test
