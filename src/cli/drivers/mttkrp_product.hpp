// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad mttkrp` that runs on the backend. Free of Kokkos, so that its callers can be.
#pragma once

#include <vector>

#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// The MTTKRP of a mode, counted from 0, I_mode x R, row-major. Needs a Session. Fills in report.input's nnz
/// and report.format. \throws MemoryError
[[nodiscard]] std::vector<double> mttkrp_product(io::CoordinateList&& tensor, io::HostKtensor const& model,
                                                 int mode, Report& report);

}  // namespace polyad::cli
