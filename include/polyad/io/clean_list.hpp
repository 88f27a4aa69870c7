// SPDX-License-Identifier: BSD-3-Clause
// Nonzeros of a list that stand at the same place, whose values are not wanted, or that are held out. The
// result depends on the order in the list alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// What becomes of nonzeros at one place.
enum class Duplicates { keep, sum, last };

/// Two nonzeros at one place, counted from 0.
struct DuplicatePair {
  std::uint64_t earlier, later;
};

/// The first nonzero that stands where an earlier one does; nothing when there is none.
[[nodiscard]] std::optional<DuplicatePair> first_duplicate(CoordinateList const& list);

/// Nonzeros that stand where an earlier one does.
[[nodiscard]] std::uint64_t count_duplicates(CoordinateList const& list);

/// Leaves one nonzero at each place, where the first of them stands in the list. Its value is their sum (in
/// the list's order) or the last one. Returns how many went. Takes up to 16 bytes per nonzero.
std::uint64_t merge_duplicates(CoordinateList& list, Duplicates what);

/// Removes the nonzeros for whose value `unwanted` returns true; the others keep their order.
void drop_values(CoordinateList& list, std::function<bool(double)> const& unwanted);

/// The line of text on which nonzero number `nonzero`, counted from 0 without dropping zeros, stands; nothing
/// for other files than text, and for pipes. Reads the file again.
[[nodiscard]] std::optional<std::uint64_t> line_of_nonzero(std::filesystem::path const& path,
                                                           std::uint64_t nonzero);

/// Nonzero p (from 0) goes into the second list where second(p) is true, else into the first. Both keep the
/// order, the duplicates and the extents.
[[nodiscard]] std::pair<CoordinateList, CoordinateList> partition(
    CoordinateList const& list, std::function<bool(std::uint64_t)> const& second);

/// The entries that stay, and a share of them (0: none, 1: all) that is held out. Entry p is held out when
/// counter_uniform(seed, stream, p, 0) < share: the same ones on every backend. Another stream holds out
/// others; 100 is that of `polyad fast-tucker --split`.
[[nodiscard]] std::pair<CoordinateList, CoordinateList> hold_out(CoordinateList const& list, double share,
                                                                 std::uint64_t seed,
                                                                 std::uint64_t stream = 100);

}  // namespace polyad::io
