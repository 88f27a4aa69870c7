// SPDX-License-Identifier: BSD-3-Clause
// Entries of rows that a completion model gets without a new fit, and what the model knows of its rows then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/names/read_for_model.hpp"
#include "cli/options/fold_in_options.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

/// \throws UsageError if the options do not suit the model. Says on stderr what they may lack.
void expect_fits(TypedFoldIn const& options, io::HostFastTucker const& model, std::string const& path);

/// \param own_modes  whose rows may be new ones
/// \param allowed    unknown rows of other modes are counted on stderr; otherwise there must be none
/// \throws InputError naming the entry and its row
void expect_known_rows(EntriesForModel const& entries, io::HostFastTucker const& model,
                       std::vector<int> const& own_modes, bool allowed);

/// Appends the entries of another list of the same order. The extents are the larger ones.
void append(io::CoordinateList& list, io::CoordinateList const& more);

/// The marks of a model's rows, with those that the list has marked, too. Rows that `before` does not reach
/// are unmarked.
/// \param before, extents  marks as HostFastTucker has them, and the rows that they are of
/// \param now      the rows of each mode then
[[nodiscard]] std::vector<std::vector<std::uint8_t>> with_rows_of(
    io::CoordinateList const& list, std::vector<std::vector<std::uint8_t>> const& before,
    std::vector<std::uint64_t> const& extents, std::vector<std::uint64_t> const& now);

/// The names of the first rows of each mode, as many as `extents` says, with the index base of the model.
[[nodiscard]] io::RowNames first_names(io::RowNames names, std::vector<std::uint64_t> const& extents,
                                       io::HostFastTucker const& model);

}  // namespace polyad::cli
