// SPDX-License-Identifier: BSD-3-Clause
// The sets that fast-tucker holds out of its entries: --split, --split-time, --split-last and --validate.
#pragma once

#include <string>

#include "cli/options/options.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

/// A held-out set.
struct HeldOutSet {
  io::CoordinateList kept;
  io::CoordinateList held;
  std::string text;  // what was held out and how, for a line of the results; empty on several ranks
};

/// Holds the test set out of the entries; `held` is empty unless options.splits(). If each rank has a
/// part of the list, each divides its own part.
/// \param labels  those of the entries' modes; may be empty
/// \throws UsageError
[[nodiscard]] HeldOutSet hold_out_test(TrainOptions const& options, io::CoordinateList&& list,
                                       io::Labels const& labels);

/// The same for the validation set, by the same rule.
[[nodiscard]] HeldOutSet hold_out_validation(TrainOptions const& options, io::CoordinateList&& list,
                                             io::Labels const& labels);

}  // namespace polyad::cli
