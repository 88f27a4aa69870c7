// SPDX-License-Identifier: BSD-3-Clause
// Where the rows of matrices begin in memory. Free of Kokkos, since the cost model counts the padding, too.
#pragma once

#include <cstdint>

namespace polyad {

/// The rows of an output on a host (make_output_matrix) start at multiples of this number of bytes. It is a
/// cache line, and the widest register.
inline constexpr std::uint64_t output_alignment = 64;

}  // namespace polyad
