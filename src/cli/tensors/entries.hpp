// SPDX-License-Identifier: BSD-3-Clause
// Parts of lists of entries, on the host: what is held out, what lies outside given extents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Index of entry p in mode n.
[[nodiscard]] std::uint64_t index_of(io::CoordinateList const& list, std::uint64_t p, int n);

/// The entries for which `second` holds, in the second list, and the others in the first; both keep the
/// order, the duplicates and the extents.
[[nodiscard]] std::pair<io::CoordinateList, io::CoordinateList> partition(
    io::CoordinateList const& list, std::function<bool(std::uint64_t)> const& second);

/// Holds a share of the entries out, in the second list: entry p when u(seed, stream, p) < share
/// (core/counter_rng.hpp), the same ones on every backend.
[[nodiscard]] std::pair<io::CoordinateList, io::CoordinateList> hold_out(io::CoordinateList const& list,
                                                                         double share, std::uint64_t seed,
                                                                         std::uint64_t stream);

/// The first mode in which entry p lies outside the extents, -1 for none.
[[nodiscard]] int mode_outside(io::CoordinateList const& list, std::uint64_t p,
                               std::vector<std::uint64_t> const& extents);

/// Takes the entries outside `extents` into the second list and gives the first these extents.
/// \throws InputError naming `file`, the entry and its index, unless `allowed`
[[nodiscard]] std::pair<io::CoordinateList, io::CoordinateList> split_off_cold(
    io::CoordinateList&& list, std::vector<std::uint64_t> const& extents, std::string const& file,
    bool allowed);

}  // namespace polyad::cli
