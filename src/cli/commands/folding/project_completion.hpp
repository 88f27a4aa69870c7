// SPDX-License-Identifier: BSD-3-Clause
// polyad project with a model of fast-tucker.
#pragma once

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// Writes the model with other rows of a mode: those of the entries, each solved from its own ones.
/// \returns the exit code
int project_completion(io::HostFastTucker const& model, ProjectOptions const& options, Report& report);

/// Reads the slices, and settles the mode of the new rows.
/// \param base   that of rows in a text; -1: as the file says
/// \param names  those of the model; \param order  its number of modes
/// \throws InputError for a tensor of another number of modes; UsageError for a mode that it does not have
[[nodiscard]] io::TensorFile read_slices(ProjectOptions& options, int base, io::RowNames const& names,
                                         std::size_t order, Report& report);

/// \throws UsageError for options that only models of fast-tucker have
void expect_cp_options(ProjectOptions const& options);

}  // namespace polyad::cli
