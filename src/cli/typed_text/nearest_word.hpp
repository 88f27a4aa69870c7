// SPDX-License-Identifier: BSD-3-Clause
// The word that was meant by one with a typing error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polyad::cli {

/// The word of the list that differs least from `typed` by letters left out, added, replaced or swapped
/// with their neighbour; the first of several. Empty if more than a third of the letters differ. Cases do
/// not differ.
[[nodiscard]] std::string nearest_word(std::string_view typed, std::vector<std::string> const& words);

}  // namespace polyad::cli
