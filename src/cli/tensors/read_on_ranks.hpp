// SPDX-License-Identifier: BSD-3-Clause
// Reads a tensor on several ranks, a part on each. All ranks call these functions, in a Session. Free of
// Kokkos.
#pragma once

#include "cli/tensors/read_input.hpp"

namespace polyad::cli {

/// This rank's part of the nonzeros, and the extents of all. If duplicates are an error, or the last one
/// counts, rank 0 reads everything, since it must see them together.
/// \throws as read_input
[[nodiscard]] io::CoordinateList read_on_ranks(TensorInput const& input, CommonOptions const& common,
                                               Report& report);

/// The lists of all ranks, in their order, on rank 0; an empty one elsewhere.
[[nodiscard]] io::CoordinateList gather_on_rank_0(io::CoordinateList const& list);

}  // namespace polyad::cli
