// SPDX-License-Identifier: BSD-3-Clause
// The limit of private rows, which the walks and the cost model share. Free of Kokkos.
#pragma once

#include <algorithm>
#include <cstdint>

namespace polyad::detail {

/// The number of private rows beyond which a mode keeps no copies, unless an option sets another. It is one
/// row per eight nonzeros: at R = 32 the copies are then no larger than the tensor.
[[nodiscard]] constexpr std::uint64_t most_private_rows(std::uint64_t nnz) {
  return std::max<std::uint64_t>(nnz / 8, std::uint64_t(1) << 16);
}

}  // namespace polyad::detail
