// SPDX-License-Identifier: BSD-3-Clause
// The modes of bounds and penalties, which may be typed by name, once the tensor is read.
#pragma once

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// Looks the names of modes up. On several ranks all call it; the first one knows the names.
/// \throws UsageError for a name that no mode has
void settle_modes(CpdOptions& options, InputReport const& tensor, int order);

/// Multiplies the weights of a start into the factors whose updates leave their scale free.
void share_weights(io::HostKtensor& start, TypedConstraints const& constraints);

}  // namespace polyad::cli
