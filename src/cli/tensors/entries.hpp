// SPDX-License-Identifier: BSD-3-Clause
// Entries of a list, on the host, that lie outside given extents.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Index of entry p in mode n.
[[nodiscard]] std::uint64_t index_of(io::CoordinateList const& list, std::uint64_t p, int n);

/// The first mode in which entry p lies outside the extents, -1 for none.
[[nodiscard]] int mode_outside(io::CoordinateList const& list, std::uint64_t p,
                               std::vector<std::uint64_t> const& extents);

/// Moves the entries outside `extents` into the second list, and gives the first list these extents.
/// \param first  the number of the first entry in the file, from 0
/// \throws InputError naming `file`, the entry and its index, unless `allowed`
[[nodiscard]] std::pair<io::CoordinateList, io::CoordinateList> split_off_cold(
    io::CoordinateList&& list, std::vector<std::uint64_t> const& extents, std::string const& file,
    bool allowed, std::uint64_t first = 0);

/// Says on stderr how many entries lie outside the training set's extents, where some do.
void warn_of_cold(std::uint64_t entries);

}  // namespace polyad::cli
