// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad mttkrp`, `ttm`, `ttmc`, `tucker` and `project` that runs on the backend. Free of
// Kokkos, so that its callers can be. All need a Session, sum the tensor's duplicates, give the tensor up
// once it is on the device, and fill in report.input and report.format.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// The tensor times a matrix (I_n x R) along options.mode: every value of the semi-sparse result.
[[nodiscard]] io::CoordinateList multiply(TtmOptions const& options, io::CoordinateList&& tensor,
                                          io::HostArray const& matrix, Report& report);

/// The tensor times the matrices of all modes but options.mode: I_n x the product of their columns.
[[nodiscard]] io::HostArray multiply(TtmcOptions const& options, io::CoordinateList&& tensor,
                                     std::map<int, io::HostArray> const& matrices, Report& report);

/// A Tucker decomposition by HOOI, saved where options.output says. All ranks call it together, each with its
/// part of the nonzeros. Fills in report.ranks too.
/// \param on_iteration  called after each iteration; false ends the run
void decompose(TuckerOptions const& options, io::CoordinateList&& list, Report& report,
               std::function<bool(IterationReport const&)> const& on_iteration);

/// The MTTKRP of a mode, counted from 0, I_mode x R, row-major. \throws MemoryError
[[nodiscard]] std::vector<double> mttkrp_product(io::CoordinateList&& tensor, io::HostKtensor const& model,
                                                 int mode, Report& report);

struct ProjectedRows {
  std::vector<double> rows;  // J x R, row-major
  double fit = 0, objective = 0;
};

/// Rows of a mode of the model for the tensor's slices. Needs a Session. Fills in report.input's nnz and
/// report.format. \param precision  "f32" or "f64"
/// \throws as polyad::project
[[nodiscard]] ProjectedRows project_rows(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                                         std::string const& precision, Report& report);

}  // namespace polyad::cli
