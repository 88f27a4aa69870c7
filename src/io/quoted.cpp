// SPDX-License-Identifier: BSD-3-Clause
#include "io/quoted.hpp"

#include <algorithm>

#include "polyad/core/printable.hpp"

namespace polyad::io {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::size_t shown             = 0;
  while (shown < std::min(longest, text.size()))
    shown += std::max<std::size_t>(character_bytes(text.substr(shown)), 1);
  return "'" + printable(text.substr(0, shown)) + (text.size() > longest ? "...'" : "'");
}

}  // namespace polyad::io
