// SPDX-License-Identifier: BSD-3-Clause
// Removes duplicates and unwanted values from a list of nonzeros, and holds entries out. The result depends
// only on the order of the list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// Treatment of nonzeros at the same place.
enum class Duplicates { keep, sum, last };

/// Two nonzeros at one place, counted from 0.
struct DuplicatePair {
  std::uint64_t earlier, later;
};

/// The first nonzero with the coordinates of an earlier one; nothing if there is none.
[[nodiscard]] std::optional<DuplicatePair> first_duplicate(CoordinateList const& list);

/// The number of nonzeros that have the coordinates of an earlier one.
[[nodiscard]] std::uint64_t count_duplicates(CoordinateList const& list);

/// Leaves one nonzero at each place, where the list has the first of them. Its value is their sum (in the
/// list's order) or the last one. Returns how many were removed. Needs up to 16 bytes per nonzero.
/// \throws NumericalError if a sum of finite values is infinite
std::uint64_t merge_duplicates(CoordinateList& list, Duplicates what);

/// Removes the nonzeros for whose value `unwanted` returns true; the others keep their order.
void drop_values(CoordinateList& list, std::function<bool(double)> const& unwanted);

/// The line of nonzero number `nonzero` in a text file, counted from 0 and including zeros. Empty for pipes
/// and for files other than text. Reads the file again.
[[nodiscard]] std::optional<std::uint64_t> line_of_nonzero(std::filesystem::path const& path,
                                                           std::uint64_t nonzero);

/// Nonzero p (from 0) goes into the second list if second(p) is true, which is called twice, else into the
/// first. Both keep the order, the duplicates and the extents.
[[nodiscard]] std::pair<CoordinateList, CoordinateList> partition(
    CoordinateList const& list, std::function<bool(std::uint64_t)> const& second);

/// Divides the entries into those that stay and a held-out share (0: none, 1: all). Entry p is held out when
/// counter_uniform(seed, stream, p, 0) < share, on every backend alike. Another stream holds out other
/// entries; `polyad fast-tucker --split` has stream 100. The first entry of `list` has the number `first`.
[[nodiscard]] std::pair<CoordinateList, CoordinateList> hold_out(CoordinateList const& list, double share,
                                                                 std::uint64_t seed,
                                                                 std::uint64_t stream = 100,
                                                                 std::uint64_t first  = 0);

}  // namespace polyad::io
