// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad stats` that runs on the backend. Free of Kokkos, so that its callers can be.
#pragma once

#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Slices, fibres, values and norm; needs a Session. Sums duplicates first and fills in report.input.
/// \param tensor  released once it is on the device
[[nodiscard]] StatsReport tensor_facts(io::CoordinateList&& tensor, Report& report);

}  // namespace polyad::cli
