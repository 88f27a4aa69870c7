// SPDX-License-Identifier: BSD-3-Clause
// The length of a thread's chunk of nonzeros on a device, and the chunks per row from which the sums at their
// ends are added together. Free of Kokkos: the kernels and the cost model share these numbers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace polyad {

/// The paper's sub-block (NZPTM, GenTen Table 3); sums of 64 were no faster on the H200.
inline constexpr std::uint64_t longest_device_chunk = 128;

/// Nonzeros in a chunk on a device that runs `threads` threads, with `lanes` of them on each chunk. It is the
/// longest chunk, unless that would leave part of the device idle.
[[nodiscard]] constexpr std::uint64_t device_chunk(std::uint64_t nnz, int lanes, std::uint64_t threads) {
  std::uint64_t const balanced = nnz * lanes / std::max<std::uint64_t>(threads, 1);
  return std::clamp<std::uint64_t>(balanced / 4 * 4, 16, longest_device_chunk);
}

/// The average number of chunks per row from which a team adds the ends of its chunks together
/// (kernel/team_sums.hpp). An atomic row of doubles takes four times as long as one of floats.
[[nodiscard]] constexpr std::uint64_t chunks_of_a_long_row(int scalar_bytes) {
  return scalar_bytes == 4 ? 512 : 32;
}

/// The most sums that a float of the output adds one after another. Positive terms of various sizes then give
/// an error of about 1e-5.
inline constexpr std::uint64_t most_float_additions = std::uint64_t(1) << 16;

/// The least number of chunks that a team adds together: the teams of 128 threads have up to 8 lanes for a
/// chunk of floats.
inline constexpr std::uint64_t chunks_added_together = 16;

/// The chunks of a row whose sums a float can add. Beyond that it loses digits.
/// \param average  chunks of a row on average, which decides about team sums
[[nodiscard]] constexpr std::uint64_t most_additions_of_a_row(double average) {
  bool const together = average >= static_cast<double>(chunks_of_a_long_row(4));
  return most_float_additions * (together ? chunks_added_together : 1);
}

}  // namespace polyad
