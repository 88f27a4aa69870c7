// SPDX-License-Identifier: BSD-3-Clause
// The sets that fast-tucker holds out of its entries: --split, --split-time, --split-last and --validate.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// A held-out set.
struct HeldOutSet {
  io::CoordinateList kept;
  io::CoordinateList held;
  std::string text;  // what was held out and how, for a line of the results; empty on several ranks
};

/// Holds a set out of the entries. If each rank has a part of the list, each divides its own part. The rule
/// of the test set is that of the validation set, too.
/// \param input  what was read, with the labels of its modes
/// \param set    "test" or "validation"
/// \throws UsageError
[[nodiscard]] HeldOutSet hold_out(TrainOptions const& options, io::CoordinateList&& list,
                                  InputReport const& input, std::string_view set);

}  // namespace polyad::cli
