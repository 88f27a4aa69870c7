// SPDX-License-Identifier: BSD-3-Clause
// of_mode: the element of a list for a mode. Modes are ints, like n in the papers, and lists are indexed by
// std::size_t. Plain C++.
#pragma once

#include <cstddef>

namespace polyad {

/// list[n], of a std::vector, std::array, span or the like with one element per mode (or level).
template <class List>
[[nodiscard]] constexpr decltype(auto) of_mode(List&& list, int n) {
  return list[n];
}

}  // namespace polyad
