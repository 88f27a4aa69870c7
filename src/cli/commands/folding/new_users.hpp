// SPDX-License-Identifier: BSD-3-Clause
// polyad recommend --ratings: users who get rows from entries of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/names/words.hpp"
#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"

namespace polyad::cli {

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
