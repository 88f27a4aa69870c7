// SPDX-License-Identifier: BSD-3-Clause
// How long a thread's chunk of nonzeros is on a device, and from how many chunks per row on their ends are
// added together. Plain C++: what the kernels do, and what the cost model takes them to do.
#pragma once

#include <algorithm>
#include <cstdint>

namespace polyad {

/// The paper's sub-block (NZPTM, GenTen Table 3); sums of 64 were no faster on the H200.
inline constexpr std::uint64_t longest_device_chunk = 128;

/// Nonzeros in a chunk for a device that runs `threads` threads, `lanes` of them on each chunk. The longest
/// chunk, or a shorter one where that would leave the device idle.
[[nodiscard]] constexpr std::uint64_t device_chunk(std::uint64_t nnz, int lanes, std::uint64_t threads) {
  std::uint64_t const balanced =
      nnz * static_cast<std::uint64_t>(lanes) / std::max<std::uint64_t>(threads, 1);
  return std::clamp<std::uint64_t>(balanced / 4 * 4, 16, longest_device_chunk);
}

/// From how many chunks per row, on average, teams add the ends of their chunks together
/// (kernel/team_sums.hpp). An atomic row of doubles takes four times as long as one of floats.
[[nodiscard]] constexpr std::uint64_t chunks_of_a_long_row(int scalar_bytes) {
  return scalar_bytes == 4 ? 512 : 32;
}

}  // namespace polyad
