// SPDX-License-Identifier: BSD-3-Clause
// Splits of a list of entries into a part to learn from and a held-out part to test on. A random split
// shows how well missing entries are filled in. It does not show how well the future, the next choice of a
// user, or a new user is predicted: there are other rules for these. A rule is a function of the entries
// and the seed. Its result does not depend on the number of threads nor, except for SplitRule::entries and
// without a mode of time, on the order of the list.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

enum class SplitRule {
  entries,        // at random; entries at the same place may be separated
  coordinates,    // at random; entries at the same place stay together
  rows,           // all entries of randomly drawn rows of `mode`
  time,           // the latest entries; those of one time stay together
  last,           // the latest entries of each row of `mode`
  last_and_share  // these, and a share of the other entries, drawn as by `coordinates`
};

struct SplitRuleFacts {
  SplitRule rule;
  char const* name;     // in Python
  char const* summary;  // a few words for the tool's output, before the modes
};

/// All rules, in the order of the enumeration.
[[nodiscard]] std::span<SplitRuleFacts const> split_rules();
[[nodiscard]] SplitRuleFacts const& facts_of(SplitRule rule);
/// The rule of that name. \throws UsageError that lists the names, if there is none
[[nodiscard]] SplitRule split_rule(std::string_view name);

struct SplitOptions {
  SplitRule rule = SplitRule::coordinates;
  double share   = 0.1;  // to hold out, 0 to 1: of the entries or, by `rows`, of the rows with entries
  int mode       = -1;   // `rows` and both rules of last entries need it
  int time_mode  = -1;   // `time` and these two use it; -1 with these: later in the list is later
  /// The rules of last entries draw one of several entries of the last time, with the entries at its place.
  /// Otherwise they hold all of them out.
  bool one_of_ties     = false;
  std::uint64_t seed   = 0;
  std::uint64_t stream = 100;  // another stream draws others; `polyad fast-tucker --split` has stream 100
  std::uint64_t first  = 0;    // the number of the list's first entry, for `entries`
};

/// For each entry 1 if it is held out, else 0.
///
/// `time` holds out the number of entries that is nearest to the share, of two equally near the smaller
/// one. At least the last time is held out, and at least the first one stays. `rows` rounds the number of
/// rows; at least one is held out, and at least one stays. `last` and `last_and_share` leave rows alone
/// that would have no entry left; `last_and_share` keeps the first entry of each row, with those at its
/// place. A share of 0 holds out nothing but last entries.
/// \throws UsageError for a share outside 0 to 1, or of 1 by `time` and `rows`; for a mode that the list does
///         not have; when all entries have the same time, by `time`, or the same row, by `rows`
[[nodiscard]] std::vector<std::uint8_t> held_out_entries(CoordinateList const& list,
                                                         SplitOptions const& options);

struct Split {
  CoordinateList kept;
  CoordinateList held;
  std::uint64_t repeated  = 0;  // entries of the list at a place that an earlier one has
  std::uint64_t separated = 0;  // held-out entries at a place that a kept one has
};

/// Both parts keep order, duplicates and extents. \throws as held_out_entries
[[nodiscard]] Split split(CoordinateList const& list, SplitOptions const& options);

}  // namespace polyad::io
