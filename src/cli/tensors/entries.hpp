// SPDX-License-Identifier: BSD-3-Clause
// Entries of a list, on the host, that lie outside given extents.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/names/row_texts.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Index of entry p in mode n.
[[nodiscard]] std::uint64_t index_of(io::CoordinateList const& list, std::uint64_t p, int n);

/// The rows of a mode that have entries, in ascending order.
[[nodiscard]] std::vector<std::uint64_t> occurring_rows(io::CoordinateList const& list, int n);

/// Whether coordinates alone need 64 bits.
[[nodiscard]] bool extents_need_wide_index(std::vector<std::uint64_t> const& extents);

/// Converts the indices to 32 bits if all extents fit them, or else to 64.
void settle_index_type(io::CoordinateList& list);

/// The first mode in which entry p lies outside the extents, -1 for none.
[[nodiscard]] int mode_outside(io::CoordinateList const& list, std::uint64_t p,
                               std::vector<std::uint64_t> const& extents);

/// Whether the training set of a model has entries of a row, as far as the model knows.
/// \param observed  as HostFastTucker has it
[[nodiscard]] bool is_observed(std::vector<std::vector<std::uint8_t>> const& observed, int mode,
                               std::uint64_t row);

/// Moves the entries outside the extents of the training set into the second list, and gives the first list
/// these extents. Unless `allowed`, there must be none, and each row of an entry must have entries in the
/// training set.
/// \param rows      what the rows are called, those outside included
/// \param observed  as HostFastTucker has it
/// \param first     the number of the first entry in the file, from 0
/// \throws InputError naming `file`, the entry and its row, unless `allowed`
[[nodiscard]] std::pair<io::CoordinateList, io::CoordinateList> split_off_cold(
    io::CoordinateList&& list, std::vector<std::uint64_t> const& extents,
    std::vector<std::vector<std::uint8_t>> const& observed, RowTexts const& rows, std::string const& file,
    bool allowed, std::uint64_t first = 0);

/// Says on stderr how many entries are outside the training set's extents, if any are.
void warn_of_cold(std::uint64_t entries);

}  // namespace polyad::cli
