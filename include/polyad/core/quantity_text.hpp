// SPDX-License-Identifier: BSD-3-Clause
// Bytes and durations in human-readable form. Free of Kokkos.
#pragma once

#include <cstdint>
#include <string>

namespace polyad {

/// "1.23 GB"; numbers below 10,000 are not abbreviated
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// "850 us", "12.3 ms", "12.3 s", "4 min 05 s", "3 h 20 min"
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace polyad
