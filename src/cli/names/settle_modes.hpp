// SPDX-License-Identifier: BSD-3-Clause
// What CP needs of a tensor and its start, once both are read: the modes of bounds and penalties, which may
// be typed by name, and the start's extents and weights.
#pragma once

#include <optional>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// Looks the names of modes up, and multiplies the weights of a start into the factors whose updates leave
/// their scale free. On several ranks all call it; the first one knows the names.
/// \throws UsageError for a name that no mode has; InputError for a tensor of one mode, or a start of other
/// extents
void settle_modes(CpdOptions& options, io::CoordinateList const& tensor, InputReport const& input,
                  std::optional<io::HostKtensor>& start);

}  // namespace polyad::cli
