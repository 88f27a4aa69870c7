// SPDX-License-Identifier: BSD-3-Clause
// The library calls of estimate and tune. Free of Kokkos; each needs a Session.
#pragma once

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// All formats by the cost model. If none fits, `best` is empty and `because` says what would fit.
[[nodiscard]] FormatsReport estimate_formats(EstimateOptions const& options, io::CoordinateList const& tensor,
                                             BackendReport const& backend);

/// The same with measured times, or of the one format that options.format names, with its shapes.
/// \param tensor  given up once it is on the device
[[nodiscard]] FormatsReport tune_formats(TuneOptions const& options, io::CoordinateList&& tensor,
                                         Report& report);

/// The lines above the table.
void print_choice(Report const& report, EstimateOptions const& options);

/// A line for each format, the best first: bytes, needed memory, build time, the time of each mode and of an
/// iteration. The last column adds an iteration's share of the build. Times are measured if possible;
/// predicted times have a tilde.
void print_formats(FormatsReport const& formats);

}  // namespace polyad::cli
