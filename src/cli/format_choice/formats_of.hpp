// SPDX-License-Identifier: BSD-3-Clause
// What estimate and tune share, and the part of tune that runs on the backend. Free of Kokkos; each needs a
// Session.
#pragma once

#include "cli/options/choice_options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// All formats by the cost model. `best` stays empty where none fits, and `because` says what would.
[[nodiscard]] FormatsReport estimate_formats(EstimateOptions const& options, io::CoordinateList const& tensor,
                                             BackendReport const& backend);

/// The lines above the table.
void print_choice(Report const& report, EstimateOptions const& options);

/// Tries those of the candidates that fit, or the one that options.format names, and puts the fastest first.
/// The shapes
/// of f-coo where that is the format. \param tensor  given up once it is on the device
void try_formats(TuneOptions const& options, io::CoordinateList&& tensor, Report& report,
                 FormatsReport& formats);

}  // namespace polyad::cli
