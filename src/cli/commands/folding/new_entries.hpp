// SPDX-License-Identifier: BSD-3-Clause
// Entries of rows that a completion model gets without a new fit, and what the model knows of its rows then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/names/read_for_model.hpp"
#include "cli/names/words.hpp"
#include "cli/options/completion_options.hpp"
#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

/// What rows are solved with: what was typed, and otherwise what the model's file says.
/// \throws UsageError if this does not suit the model. Rank 0 says on stderr what it may lack.
[[nodiscard]] TypedFoldIn settle_fit(TypedFoldIn const& typed, io::HostFastTucker const& model,
                                     std::string const& path);

/// "--shrink 5,0.05,1000 --bias-reg 5 (as the model's file says)": what rows are solved with, and how that is
/// known.
[[nodiscard]] std::string fit_text(TypedFoldIn const& settled, io::HostFastTucker const& model);

/// What the file of a model says with rows that were solved so: nothing if only defaults are known.
[[nodiscard]] std::optional<RowFit> fit_to_keep(TypedFoldIn const& settled, io::HostFastTucker const& model);

/// \param own_modes  whose rows may be new ones
/// \param allowed    unknown rows of other modes are counted on stderr; otherwise there must be none
/// \throws InputError naming the entry and its row
void expect_known_rows(EntriesForModel const& entries, io::HostFastTucker const& model,
                       std::vector<int> const& own_modes, bool allowed);

/// What ranks other than the first have: no entries. Rank 0 reads all of them.
[[nodiscard]] io::CoordinateList no_entries(int order);

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

/// polyad recommend --ratings: users who get rows from entries of their own.
struct NewUsers {
  io::HostFastTucker model;         // with their rows; a user that it had before has a new one
  io::CoordinateList entries;       // by the rows of this model
  std::vector<std::uint64_t> rows;  // the users', in the order of their first entries
  int mode = 0;                     // that of the users
};

/// Reads options.ratings and computes the rows. Needs a Session. On several ranks, rank 0 reads, and each
/// computes some of the rows; the others only get those of the model.
/// \param items  the mode of the rows that are recommended
/// \throws UsageError, InputError
[[nodiscard]] NewUsers fold_new_users(io::HostFastTucker const& model, RecommendOptions const& options,
                                      int items, int base, Report& report);

/// A query for each user: the user's name or number, and a star for each other mode.
[[nodiscard]] std::vector<std::vector<Word>> queries_of_users(NewUsers const& users, int items, int base);

}  // namespace polyad::cli
