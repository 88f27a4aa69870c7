// SPDX-License-Identifier: BSD-3-Clause
// Reads a tensor on several ranks, a part on each. All ranks call these functions, in a Session. Free of
// Kokkos.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "cli/tensors/read_input.hpp"

namespace polyad::cli {

/// This rank's part of the nonzeros, and the extents of all. If duplicates are an error, or the last one
/// counts, rank 0 reads everything, since it must see them together. Only rank 0 has the names of rows.
/// \throws as read_input_file
[[nodiscard]] io::TensorFile read_file_on_ranks(TensorInput const& input, CommonOptions const& common,
                                                Report& report);

/// For each mode, the number of rows without a nonzero on any rank.
[[nodiscard]] std::vector<std::uint64_t> empty_slices_on_ranks(io::CoordinateList const& part);

/// Whether coordinates and positions of the nonzeros of all ranks together need 64 bits.
[[nodiscard]] bool needs_wide_index_on_ranks(io::CoordinateList const& part);

/// The list's coordinates in another type; the list gives up its own.
template <class Index>
std::vector<Index> take_indices(io::CoordinateList& list) {
  return std::visit(
      [](auto& indices) {
        std::vector<Index> taken(indices.begin(), indices.end());
        indices = {};
        return taken;
      },
      list.indices);
}

/// The lists of all ranks, in their order, on rank 0; an empty one elsewhere. One rank gets its list back.
[[nodiscard]] io::CoordinateList gather_on_rank_0(io::CoordinateList&& list);

/// The entries of all ranks in some of the rows of a mode, in the order of ranks: row k is on rank k % P. All
/// ranks call it; there are several.
[[nodiscard]] io::CoordinateList whole_rows(io::CoordinateList const& part, int mode);

/// The rows that have entries, in the form of HostFastTucker::observed. With several ranks, a row counts if
/// it has entries in any part. All ranks call it together and get the same result.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> observed_rows(io::CoordinateList const& part);

}  // namespace polyad::cli
