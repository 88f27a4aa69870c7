// SPDX-License-Identifier: BSD-3-Clause
// From how many chunks a row on a device adds their ends together (formats/team_sums.hpp). Plain C++, so that the cost model
// asks it too.
#pragma once

#include <cstdint>

namespace polyad {

/// Chunks a row, on average. An atomic row of doubles takes four times as long as one of floats (SortedTuning::hot).
[[nodiscard]] constexpr std::uint64_t chunks_of_a_long_row(int scalar_bytes) { return scalar_bytes == 4 ? 512 : 32; }

}  // namespace polyad
